import { createSignal } from "./signal.ts";

/** Where the reader is. The query holds the state of a screen's filters, so that an address can be kept and sent to others. */
export type Address = { readonly path: string; readonly query: URLSearchParams };

const address = createSignal(read());
addEventListener("popstate", () => address.set(read()));

export const useAddress = address.use;

/** Goes to a path of the page. `replace` leaves no entry in the history, as while a filter is typed. */
export function go(href: string, how: "push" | "replace" = "push"): void {
  history[how === "push" ? "pushState" : "replaceState"](null, "", href);
  address.set(read());
  if (how === "push") scrollTo(0, 0);
}

/** The address with some of its query changed; null or "" leaves a name out. */
export function withQuery({ path, query }: Address, changes: Readonly<Record<string, string | null>>): string {
  const next = new URLSearchParams(query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === "") next.delete(name);
    else next.set(name, value);
  }
  return next.size === 0 ? path : `${path}?${next}`;
}

/** A path with each part escaped: `pathTo("deliveries", "42-crm")`. */
export function pathTo(...parts: readonly string[]): string {
  return `/${parts.map(encodeURIComponent).join("/")}`;
}

/** A path with a query; parts that are null are left out. */
export function pathWith(path: string, query: Readonly<Record<string, string | null>>): string {
  return withQuery({ path, query: new URLSearchParams() }, query);
}

/** Follows the links of the page without loading it again. */
export function followLinks(): void {
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (!link || link.target || link.download || link.origin !== location.origin) return;
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    if (link.dataset.plain !== undefined) return;
    event.preventDefault();
    go(link.pathname + link.search);
  });
}

function read(): Address {
  return { path: location.pathname.replace(/(.)\/+$/, "$1"), query: new URLSearchParams(location.search) };
}
