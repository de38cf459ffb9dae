import { resolve } from "node:path";
import { readOutboxPart } from "../config/parts.ts";
import type { Config } from "../model/config.ts";
import { createResolve } from "../runtime/config-files.ts";
import type { Complaint } from "./complain.ts";
import { complaintOfFile, openConfigFile } from "./config-file.ts";
import { EXIT } from "./exit.ts";

/** Where the outbox of the config is, and its bounds. Whoever copies it need not be able to read its secrets. */
export function findOutbox(said: string | undefined): Config["outbox"] | Complaint {
  const opened = openConfigFile(said);
  if (opened.kind === "unreadable") return complaintOfFile(opened);
  const outbox = readOutboxPart({ ...opened, resolve: createResolve() });
  if ("faulty" in outbox) return { code: EXIT.config, message: outbox.message };
  return { ...outbox, path: resolve(outbox.path) };
}
