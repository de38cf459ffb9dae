// Gathers the pages of the site in pages/, beside the packages that they are built with: docs/, and the pages at the top of the
// repository.
import { cpSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { TOP_PAGES } from "./links.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const pages = fileURLToPath(new URL("pages", import.meta.url));

rmSync(pages, { recursive: true, force: true });
mkdirSync(pages, { recursive: true });
cpSync(join(ROOT, "docs"), pages, { recursive: true });
// Pages show pictures by addresses of the build's own; those that they link to keep their names.
cpSync(join(ROOT, "docs/pictures"), join(pages, "public/pictures"), { recursive: true });
for (const [page, name] of Object.entries(TOP_PAGES)) cpSync(join(ROOT, name), join(pages, page));
