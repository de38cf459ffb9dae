// The site of the manual: https://vitepress.dev/reference/site-config. `make docs` builds it.
import { defineConfig } from "vitepress";
import { anchorOf, repositoryLinks, withoutExpressions } from "../links.ts";
import { sidebarOf } from "../navigation.ts";

/** Where `make docs` has gathered the pages. */
const pages = "pages";

export default defineConfig({
  title: "Fairlead",
  description: "A self-hosted event router: analytics calls in, signed webhooks out, nothing lost in between.",
  lang: "en",
  // No picture of its own: a browser does not ask for one.
  head: [["link", { rel: "icon", href: "data:," }]],
  srcDir: pages,
  outDir: "../../dist/docs",
  cacheDir: "../../dist/docs-cache",
  // A site below a path, as `make docs BASE=/fairlead/`.
  base: process.env.BASE || "/",
  // A link that leads nowhere fails the build.
  ignoreDeadLinks: false,
  markdown: {
    // As on GitHub: an address in a text is no link, and braces in a heading are text.
    linkify: false,
    attrs: { disable: true },
    anchor: { slugify: anchorOf },
    config(markdown) {
      repositoryLinks(markdown);
      withoutExpressions(markdown);
    },
  },
  themeConfig: {
    // The order of the manual; within a section, that of the links on its first page.
    sidebar: sidebarOf(new URL(`../${pages}/`, import.meta.url)),
    nav: [
      { text: "Quickstart", link: "/quickstart" },
      { text: "Operate", link: "/operate/" },
      { text: "Reference", link: "/reference/" },
    ],
    outline: { level: [2, 3], label: "On this page" },
    search: {
      provider: "local",
      options: {
        miniSearch: {
          searchOptions: { combineWith: "AND", prefix: true, fuzzy: 0.1, boost: { title: 4, titles: 2, text: 1 } },
        },
      },
    },
    docFooter: { prev: "Previous", next: "Next" },
    externalLinkIcon: true,
  },
});
