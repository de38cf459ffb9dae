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
  const known = [...named.map(([path]) => path), "index.md", "pictures", "public", "project"];
  const others = readdirSync(root).filter((name) => !known.includes(name));
  return [
    ...[...named, ...others.map((name) => [name, name] as const)].map(([path, text]) => partOf(root, path, text)),
    { text: "Project", collapsed: true, items: Object.keys(TOP_PAGES).map((page) => pageItem(root, page)) },
  ];
}

function partOf(root: URL, path: string, text: string): Item {
  // Without pages of its own, but in the form of a part.
  return path.endsWith(".md") ? { text, link: linkTo(path), items: [] } : folderItem(root, path, text);
}

/** A folder, under the page that introduces it: its index, or the page beside it that has its name. */
function folderItem(root: URL, folder: string, text: string): Item {
  const pages = [`${folder}.md`, `${folder}/index.md`].filter((page) => existsSync(new URL(page, root)));
  const [first, second] = pages;
  const names = namesIn(root, folder);
  const top = names.filter((name) => !names.some((other) => name.startsWith(`${other}-`)));
  const items = inOrder(root, top, pages).map((name) => {
    const below = names.filter((other) => other.startsWith(`${name}-`));
    return shortened(itemOf(root, `${folder}/${name}`, below), text);
  });
  return {
    text,
    ...(first === undefined ? {} : { link: linkTo(first) }),
    collapsed: true,
    items: second === undefined ? items : [pageItem(root, second), ...items],
  };
}

/** The names of its pages and folders, without endings. */
function namesIn(root: URL, folder: string): readonly string[] {
  const inside = readdirSync(new URL(`${folder}/`, root), { withFileTypes: true });
  const named = inside.filter((one) => one.isDirectory() || (one.name.endsWith(".md") && one.name !== "index.md"));
  return [...new Set(named.map(({ name }) => name.replace(/\.md$/, "")))];
}

/** Without the name of its folder, as in `Commands: Watch`. */
function shortened(item: Item, folder: string): Item {
  if (!item.text.startsWith(`${folder}: `)) return item;
  const rest = item.text.slice(folder.length + 2);
  return { ...item, text: rest.charAt(0).toUpperCase() + rest.slice(1) };
}

/** `path` is without its ending. `below`: names of pages that begin with its name, as `fairlead-types` beside `fairlead`. */
function itemOf(root: URL, path: string, below: readonly string[]): Item {
  const page = `${path}.md`;
  const isPage = existsSync(new URL(page, root));
  if (existsSync(new URL(`${path}/`, root))) {
    return folderItem(root, path, titleOf(root, isPage ? page : `${path}/index.md`));
  }
  if (below.length === 0) return pageItem(root, page);
  const folder = path.slice(0, path.lastIndexOf("/"));
  const items = inOrder(root, below, [page]).map((name) => pageItem(root, `${folder}/${name}.md`));
  return { ...pageItem(root, page), collapsed: true, items };
}

/** In the order in which these pages link to them; others after them, by name. */
function inOrder(root: URL, names: readonly string[], pages: readonly string[]): readonly string[] {
  const text = pages.map((page) => readFileSync(new URL(page, root), "utf8")).join("\n");
  const place = (name: string) => {
    const at = text.search(new RegExp(`\\]\\(([\\w-]+/)?${name}(\\.md|/)`));
    return at < 0 ? Number.POSITIVE_INFINITY : at;
  };
  return names.toSorted((a, b) => {
    const [here, there] = [place(a), place(b)];
    return here === there ? a.localeCompare(b) : here - there;
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
