import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import process from "node:process";
import { describeCommand } from "../src/cli/command-table.ts";
import { COMPLETIONS } from "../src/cli/completion.ts";
import { manPage } from "../src/cli/man.ts";
import { createProgram } from "../src/cli/program.ts";
import { noticesText } from "./notices.ts";
import { ROOT } from "./run.ts";

export const VERSION: string = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")).version;

/** The moment that all files of a release are of, in seconds: it does not depend on when that is made. */
export function releasedAt(): number {
  const said = process.env.SOURCE_DATE_EPOCH ?? "";
  if (!/^\d+$/.test(said)) throw new Error("SOURCE_DATE_EPOCH says of which moment the files are; make sets it");
  return Number(said);
}

/** For what stands in front of the daemon, and for what watches it: by their paths in the project, to which the manual leads. */
export const EXAMPLES = [
  "packaging/nginx/fairlead.conf",
  "packaging/caddy/Caddyfile",
  "packaging/prometheus/alerts.yaml",
  "packaging/grafana/fairlead.json",
  "packaging/cluster/compose.yaml",
  "packaging/cluster/Caddyfile",
  "packaging/cluster/fairlead/config.yaml",
  "packaging/systemd/fairlead@.service",
] as const;

/** The manual, with its pictures: by their paths in docs/. */
export const MANUAL: readonly string[] = readdirSync(join(ROOT, "docs"), { recursive: true, withFileTypes: true })
  .filter((one) => one.isFile())
  .map(({ parentPath, name }) => relative(join(ROOT, "docs"), join(parentPath, name)))
  .toSorted();

const table = describeCommand(await createProgram(async () => {}));

/** What goes with the binary and is written by programs, by its name there. */
export function writtenDocuments() {
  const date = new Date(releasedAt() * 1_000).toISOString().slice(0, 10);
  return {
    man: manPage(table, { version: VERSION, date }),
    bash: COMPLETIONS.bash(table),
    zsh: COMPLETIONS.zsh(table),
    fish: COMPLETIONS.fish(table),
    notices: noticesText(),
  };
}
