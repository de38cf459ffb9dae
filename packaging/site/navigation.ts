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
  ["recipes", "Recipes"],
  ["reference", "Reference"],
  ["comparison.md", "Comparison"],
  ["internals", "Internals"],
];

/** The sidebar: every page of the manual. A page that no part names stands at the end, so that none is lost. */
export function sidebarOf(root: URL): Item[] {
  const named = PARTS.filter(([path]) => existsSync(new URL(path, root)));
  const known = [...named.map(([path]) => path), ...TOP_PAGES, "index.md", "pictures"];
  const others = readdirSync(root).filter((name) => !known.includes(name));
  return [
    ...named.map(([path, text]) => partOf(root, path, text)),
    ...others.map((name) => partOf(root, name, name)),
    {
      text: "Project",
      collapsed: true,
      items: TOP_PAGES.filter((name) => existsSync(new URL(name, root))).map((name) => pageItem(root, name)),
    },
  ];
}

function partOf(root: URL, path: string, text: string): Item {
  return path.endsWith(".md") ? { text, link: linkTo(path) } : folderItem(root, path, text);
}

function folderItem(root: URL, folder: string, text: string): Item {
  const names = readdirSync(new URL(`${folder}/`, root), { withFileTypes: true });
  const folders = names.filter((one) => one.isDirectory()).map(({ name }) => name);
  // A page that introduces a folder of the same name stands in it.
  const pages = names
    .filter((one) => one.isFile() && one.name.endsWith(".md") && one.name !== "index.md")
    .map(({ name }) => `${folder}/${name}`);
  const items = inOrder(root, folder, pages).map((page) => {
    const inner = page.slice(folder.length + 1, -".md".length);
    return folders.includes(inner) ? folderItem(root, `${folder}/${inner}`, titleOf(root, page)) : pageItem(root, page);
  });
  const rest = folders
    .filter((name) => !pages.includes(`${folder}/${name}.md`))
    .map((name) => folderItem(root, `${folder}/${name}`, titleOf(root, `${folder}/${name}/index.md`)));
  const [first] = [`${folder}/index.md`, `${folder}.md`].filter((page) => existsSync(new URL(page, root)));
  return {
    text,
    ...(first === undefined ? {} : { link: linkTo(first) }),
    collapsed: true,
    items: [...ownIndex(root, folder), ...items, ...rest],
  };
}

/** The index of a folder that another page introduces. */
function ownIndex(root: URL, folder: string): readonly Item[] {
  const index = `${folder}/index.md`;
  const both = existsSync(new URL(index, root)) && existsSync(new URL(`${folder}.md`, root));
  return both ? [pageItem(root, index)] : [];
}

/** In the order in which the first page of the folder links to them; others after them, by name. */
function inOrder(root: URL, folder: string, pages: readonly string[]): readonly string[] {
  const index = new URL(`${folder}/index.md`, root);
  const text = existsSync(index) ? readFileSync(index, "utf8") : "";
  const place = (page: string) => {
    const at = text.indexOf(`](${page.slice(folder.length + 1)}`);
    return at < 0 ? Number.POSITIVE_INFINITY : at;
  };
  return pages.toSorted((a, b) => {
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
