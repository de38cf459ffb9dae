import type { Inspected } from "../../config/load.ts";
import { fullPath } from "../../config/references.ts";
import { child, listOf, mapOf, type Tree, textOf } from "../../config/tree.ts";
import { ownSecrets } from "../../config/warnings.ts";
import { isInOpenFolders, storedFile } from "../../runtime/stored-file.ts";
import type { GuardedFile } from "./secrets.ts";

type Files = { readonly file: string; readonly inspected: Inspected | null; readonly outbox: string | null };

/** The files that others have no business with: what the config's secrets come from, itself if it has one, and the outbox. */
export function guardedFiles({ file, inspected, outbox }: Files): readonly GuardedFile[] {
  const secrets = new Set(inspected ? [...referredFiles(inspected), ...keyFiles(inspected.tree, file)] : []);
  if (inspected?.tree && ownSecrets(inspected.tree, inspected.origins).length > 0) secrets.add(file);
  const events = outbox === null || storedFile(outbox) === null ? [] : [outbox];
  return [...[...secrets].map((path) => look(path, "secrets")), ...events.map((path) => look(path, "events"))];
}

function look(path: string, holds: GuardedFile["holds"]): GuardedFile {
  return { path, holds, mode: storedFile(path)?.mode ?? null, inOpenFolders: isInOpenFolders(path) };
}

function referredFiles({ origins }: Inspected): readonly string[] {
  return [...origins.values()].flat().flatMap((origin) => (origin.kind === "file" ? [origin.path] : []));
}

/** Private keys are named without a reference. */
function keyFiles(tree: Tree | null, file: string): readonly string[] {
  const root = tree ?? undefined;
  const destinations = [...mapOf(child(root, "destinations")).values()];
  const webhooks = destinations.flatMap((destination) => listOf(child(destination, "webhooks")));
  const keys = [child(child(root, "ingest"), "tls"), ...webhooks].map((part) => textOf(child(part, "key")));
  return keys.flatMap((key) => (key === null ? [] : [fullPath(key, file)]));
}
