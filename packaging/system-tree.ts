import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { withLinksInPlace } from "./doc-links.ts";
import { EXAMPLES, MANUAL, writtenDocuments } from "./documents.ts";
import { ROOT } from "./run.ts";
import type { Entry } from "./tree.ts";

export const DOC = "usr/share/doc/fairlead";

/** What Debian's package and the RPM both install. `zsh`: the folder in which the system's zsh looks for completions. */
export function systemEntries(binary: string, zsh: string): readonly Entry[] {
  const { man, bash, zsh: zshCompletions, fish, notices } = writtenDocuments();
  return [
    ["usr/bin/fairlead", { copy: binary }, 0o755],
    ["usr/lib/systemd/system/fairlead.service", { copy: "packaging/systemd/fairlead.service" }],
    ["usr/lib/sysusers.d/fairlead.conf", { copy: "packaging/systemd/fairlead.sysusers.conf" }],
    ["etc/fairlead/config.yaml", { copy: "packaging/debian/config.yaml" }, 0o640],
    ["usr/share/man/man1/fairlead.1.gz", gzip(man)],
    ["usr/share/bash-completion/completions/fairlead", { text: bash }],
    [`${zsh}/_fairlead`, { text: zshCompletions }],
    ["usr/share/fish/vendor_completions.d/fairlead.fish", { text: fish }],
    [`${DOC}/CHANGELOG.md.gz`, gzip(readFileSync(join(ROOT, "CHANGELOG.md"), "utf8"))],
    [`${DOC}/THIRD-PARTY-NOTICES.txt.gz`, gzip(notices)],
    [`${DOC}/config.example.yaml`, { copy: "config.example.yaml" }],
    [`${DOC}/README.md`, { text: withLinksInPlace("README.md") }],
    [`${DOC}/SECURITY.md`, { copy: "SECURITY.md" }],
    ...EXAMPLES.map((path): Entry => [path.replace("packaging", `${DOC}/examples`), { copy: path }]),
    ...MANUAL.map((name): Entry => [`${DOC}/${name}`, page(`docs/${name}`)]),
  ];
}

function page(path: string): Entry[1] {
  return path.endsWith(".md") ? { text: withLinksInPlace(path) } : { copy: path };
}

/** A file of packaging/, with the values of the names that stand between @. */
export function fill(path: string, values: Readonly<Record<string, string>>): string {
  const text = readFileSync(join(ROOT, "packaging", path), "utf8");
  return text.replace(/@([A-Z_]+)@/g, (_, key: string) => values[key] ?? "");
}

/** Without the time, which would be another one each time. */
export function gzip(text: string): { readonly bytes: Uint8Array } {
  return { bytes: gzipSync(text, { level: 9 }) };
}

/** What the scripts of both packages have in common. `RESTART`: how a service is restarted there, if it runs. */
export function restartFunctions(restart: string): string {
  return fill("scripts/restart.sh", { RESTART: restart }).trim();
}
