/** The addresses of the dashboard, as Hono writes paths: one page for all, which reads the rest of its address itself. */
export const PAGE_PATHS = [
  "/",
  "/destinations/:name",
  "/deliveries",
  "/deliveries/:id",
  "/events",
  "/events/:messageId",
  "/live",
  "/refused",
  "/audiences",
  "/deletions",
  "/sources",
  "/system",
] as const;

/** What the page loads: its script and its style sheet. */
export const PAGE_FILES = "/dashboard/*";

const PAGES = patternOf(PAGE_PATHS);
const FILES = patternOf([PAGE_FILES]);

/** Whether the dashboard is at a path, with or without a slash at its end. */
export function isPage(path: string): boolean {
  return PAGES.test(path);
}

/** Whether a path is of a file of the dashboard. */
export function isPageFile(path: string): boolean {
  return FILES.test(path);
}

function patternOf(paths: readonly string[]): RegExp {
  const all = paths.map((path) => path.replace(/\/$/, "").replace(/:\w+/g, "[^/]+").replace("*", ".+"));
  return new RegExp(`^(?:${all.join("|")})/?$`);
}
