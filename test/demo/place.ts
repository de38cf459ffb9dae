import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import process from "node:process";
import { ROOT } from "../binary/binary.ts";

export const WRITE_KEY = "demo-key";
export const PATH = "/hooks";
/** Goes with every webhook, to show that it does. */
export const HEADER = { name: "X-Team", value: "growth" };

/** Where a demo keeps its files. */
export type Place = {
  /** As a person in the checkout would write it. */
  readonly folder: string;
  readonly config: string;
  readonly secretFile: string;
  readonly secret: string;
};

/** `.run`, which lasts from one `make run` to the next, or a new folder in it. */
export function makePlace(lasting: boolean): Place {
  process.chdir(ROOT);
  mkdirSync(".run", { recursive: true });
  const folder = lasting ? ".run" : relative(ROOT, mkdtempSync(join(ROOT, ".run/demo-")));
  const [config, secretFile] = [join(folder, "config.yaml"), join(folder, "secret")];
  if (!existsSync(secretFile)) writeFileSync(secretFile, `${randomBytes(16).toString("hex")}\n`, { mode: 0o600 });
  return { folder, config, secretFile, secret: readFileSync(secretFile, "utf8").trimEnd() };
}

export type Ports = { readonly ingest: number; readonly admin: number };

/** Writes a config that works, unless there is one: its owner may have changed it. Answers whether there was none. */
export function writeConfig({ config }: Place, receiver: string, { ingest, admin }: Ports): boolean {
  if (existsSync(config)) return false;
  writeFileSync(
    config,
    `# Change what you like; config.example.yaml in the checkout explains each key.
ingest:
  listen: 127.0.0.1:${ingest}
admin:
  listen: 127.0.0.1:${admin}
outbox:
  path: fairlead.db
log:
  format: text
sources:
  website:
    writeKey: ${WRITE_KEY}
destinations:
  crm:
    webhooks:
      - url: ${receiver}${PATH}
        headers:
          ${HEADER.name}: ${HEADER.value}
    sharedSecret: \${file:secret}
`,
  );
  return true;
}
