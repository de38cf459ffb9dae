import { readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { EXAMPLES } from "./documents.ts";
import { ROOT } from "./run.ts";

const REPOSITORY = "https://github.com/fairlead/fairlead/blob/main";

/** Files of the repository that packages have at the top of their documentation, by their names there. */
const AT_TOP: Readonly<Record<string, string>> = {
  "README.md": "README.md",
  "SECURITY.md": "SECURITY.md",
  "CHANGELOG.md": "CHANGELOG.md.gz",
  "config.example.yaml": "config.example.yaml",
};

/** A page of the repository, with links that lead to where the packages have what they name: to the repository, if nowhere. */
export function withLinksInPlace(page: string): string {
  const text = readFileSync(join(ROOT, page), "utf8");
  const from = posix.dirname(placeOf(page) ?? page);
  return text.replace(/(\]\(|src(?:set)?=")(?![a-z]+:|#)([^)"#\s]+)/g, (_, before: string, link: string) => {
    const target = posix.join(posix.dirname(page), link);
    const place = placeOf(target);
    return `${before}${place === null ? `${REPOSITORY}/${target}` : posix.relative(from, place) || "."}`;
  });
}

/** Where packages have a file or a folder of the repository; null if they do not have it. */
function placeOf(path: string): string | null {
  if (path.startsWith("docs/")) return path.slice("docs/".length);
  if (EXAMPLES.some((one) => one === path || one.startsWith(`${path}/`))) return path.replace("packaging", "examples");
  return AT_TOP[path] ?? null;
}
