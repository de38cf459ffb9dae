import { posix } from "node:path";
import type { MarkdownRenderer } from "vitepress";

/** Pages outside of docs/ that the site has too: by their paths in the site, the names at the top of the repository. */
export const TOP_PAGES: Readonly<Record<string, string>> = {
  "project/contributing.md": "CONTRIBUTING.md",
  // The site has a page security.md, and takes names that differ only in their letters' case for one.
  "project/reporting.md": "SECURITY.md",
  "project/conduct.md": "CODE_OF_CONDUCT.md",
  "project/changelog.md": "CHANGELOG.md",
};

const REPOSITORY = "https://github.com/fairlead/fairlead/blob/main";

/** The anchor that GitHub derives from a heading. */
export function anchorOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");
}

/**
 * Makes links work in the site as they do on GitHub: one that leaves docs/ leads to the page that the site has of it, else
 * to the file in the repository.
 */
export function repositoryLinks(markdown: MarkdownRenderer): void {
  markdown.core.ruler.push("repository-links", ({ tokens, env }) => {
    for (const { children } of tokens) {
      for (const token of children ?? []) {
        const href = token.attrGet("href");
        if (token.type === "link_open" && href !== null) token.attrSet("href", siteLink(href, env.relativePath));
      }
    }
  });
}

/** Pages are text: Vue, of which the site's generator is made, must not evaluate `{{ }}` in them. */
export function withoutExpressions(markdown: MarkdownRenderer): void {
  for (const rule of ["text", "code_inline"] as const) {
    const render = markdown.renderer.rules[rule];
    markdown.renderer.rules[rule] = (...given) => (render?.(...given) ?? "").replaceAll("{{", "&#123;&#123;");
  }
}

/** `page`: the path of the page in the site. */
export function siteLink(href: string, page: string): string {
  if (/^([a-z]+:|#|\/)/i.test(href)) return href;
  const [path = "", anchor] = href.split("#");
  const target = posix.join(posix.dirname(inRepository(page)), path);
  const inSite = pathInSite(target);
  const end = anchor === undefined ? "" : `#${anchor}`;
  if (inSite === null) return `${REPOSITORY}/${target}${end}`;
  const relative = posix.relative(posix.dirname(page), inSite);
  return `${relative.startsWith(".") ? relative : `./${relative}`}${end}`;
}

function inRepository(page: string): string {
  return TOP_PAGES[page] ?? `docs/${page}`;
}

function pathInSite(target: string): string | null {
  if (target.startsWith("docs/")) return target.slice("docs/".length);
  if (target === "README.md") return "index.md";
  const [found] = Object.entries(TOP_PAGES).find(([, name]) => name === target) ?? [];
  return found ?? null;
}
