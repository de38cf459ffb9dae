import { existsSync, readdirSync, readFileSync } from "node:fs";
import { TOP_PAGES } from "./links.ts";

type Item = { readonly text: string; readonly link?: string; readonly items?: Item[]; readonly collapsed?: boolean };

/** The parts of the manual in their order: a page, or a folder with its pages. */
const PARTS: readonly (readonly [path: string, text: string])[] = [
  ["quickstart.md", "Quickstart"],
  ["install", "Install"],
  ["configure", "Configure"],
  ["send", "Send"],
  ["receive", "Receive"],
  ["operate", "Operate"],
  ["audiences.md", "Audiences"],
  ["deletions.md", "Deletions"],
  ["cluster", "Cluster"],
  ["security.md", "Security"],
  ["reference", "Reference"],
  ["internals", "Internals"],
  ["recipes", "Recipes"],
  ["comparison.md", "Comparison"],
];

/** The sidebar: every page of the manual. What no part names stands at the end, so that nothing is lost. */
export function sidebarOf(root: URL): Item[] {
  const named = PARTS.filter(([path]) => existsSync(new URL(path, root)));
  const known = [...named.map(([path]) => path), ...TOP_PAGES, "index.md", "pictures"];
  const others = readdirSync(root).filter((name) => !known.includes(name));
  const project = TOP_PAGES.filter((name) => existsSync(new URL(name, root)));
  return [
    ...[...named, ...others.map((name) => [name, name] as const)].map(([path, text]) => partOf(root, path, text)),
    { text: "Project", collapsed: true, items: project.map((page) => pageItem(root, page)) },
  ];
}

function partOf(root: URL, path: string, text: string): Item {
  // Without pages of its own, but in the form of a part.
  return path.endsWith(".md") ? { text, link: linkTo(path), items: [] } : folderItem(root, path, text);
}

/** A folder, under the page that introduces it: its index, or the page beside it that has its name. */
function folderItem(root: URL, folder: string, text: string): Item {
  const index = `${folder}/index.md`;
  const isIntroduced = existsSync(new URL(`${folder}.md`, root));
  const first = isIntroduced ? `${folder}.md` : index;
  const items = inOrder(root, folder).map((name) => itemOf(root, `${folder}/${name}`));
  return {
    text,
    ...(existsSync(new URL(first, root)) ? { link: linkTo(first) } : {}),
    collapsed: true,
    items: isIntroduced && existsSync(new URL(index, root)) ? [pageItem(root, index), ...items] : items,
  };
}

/** `path` is without its ending. */
function itemOf(root: URL, path: string): Item {
  const isFolder = existsSync(new URL(`${path}/`, root));
  if (!isFolder) return pageItem(root, `${path}.md`);
  const beside = `${path}.md`;
  return folderItem(root, path, titleOf(root, existsSync(new URL(beside, root)) ? beside : `${path}/index.md`));
}

/** The pages and folders of a folder, in the order in which its index links to them; others after them, by name. */
function inOrder(root: URL, folder: string): readonly string[] {
  const inside = readdirSync(new URL(`${folder}/`, root), { withFileTypes: true });
  const names = inside
    .filter((one) => one.isDirectory() || (one.name.endsWith(".md") && one.name !== "index.md"))
    .map(({ name }) => name.replace(/\.md$/, ""));
  const index = new URL(`${folder}/index.md`, root);
  const text = existsSync(index) ? readFileSync(index, "utf8") : "";
  const place = (name: string) => {
    const at = text.search(new RegExp(`\\]\\(${name}(\\.md|/)`));
    return at < 0 ? Number.POSITIVE_INFINITY : at;
  };
  return [...new Set(names)].toSorted((a, b) => {
    const [first, second] = [place(a), place(b)];
    return first === second ? a.localeCompare(b) : first - second;
  });
}

function pageItem(root: URL, page: string): Item {
  return { text: titleOf(root, page), link: linkTo(page) };
}

/** The text of its heading. */
function titleOf(root: URL, page: string): string {
  const file = new URL(page, root);
  const [, title = page] = (existsSync(file) && /^# (.+)$/m.exec(readFileSync(file, "utf8"))) || [];
  return title.replaceAll("`", "");
}

function linkTo(page: string): string {
  return `/${page.replace(/(index)?\.md$/, "")}`;
}
