import { basename, dirname, resolve as fullPathOf, join } from "node:path";
import { type Loaded, loadConfig } from "../../config/load.ts";
import { readOutboxPart } from "../../config/parts.ts";
import { fullPath } from "../../config/references.ts";
import { child, listOf, mapOf, type Tree, textOf } from "../../config/tree.ts";
import { ownSecrets } from "../../config/warnings.ts";
import type { Config } from "../../model/config.ts";
import type { Clock, Resolve } from "../../model/ports.ts";
import { isClockSynchronized } from "../../runtime/clock.ts";
import { createResolve } from "../../runtime/config-files.ts";
import { aliasOf, spaceFor } from "../../runtime/disk.ts";
import { openFilesOf } from "../../runtime/process.ts";
import { isFolder, isInOpenFolders, namesIn, storedFile } from "../../runtime/stored-file.ts";
import { VERSION } from "../../runtime/version.ts";
import { type DaemonStatus, status } from "../../wire/status.ts";
import { summary } from "../check.ts";
import { openConfigFile } from "../config-file.ts";
import { type DaemonOptions, findDaemon, isNobodyThere, readAnswer, send } from "../daemon.ts";
import { type Depth, lookAtStore, type StoreLook } from "../outbox-file.ts";
import { judgeDatabase } from "./database.ts";
import {
  type ClockFacts,
  type ConfigFacts,
  type DaemonFacts,
  type DiskFacts,
  type Finding,
  findingsOf,
  type GuardedFile,
  judgeAlias,
  judgeClock,
  judgeConfig,
  judgeDaemon,
  judgeDisk,
  judgeFiles,
  judgeSecrets,
  judgeStore,
} from "./judge.ts";
import { examineWebhooks } from "./webhooks.ts";

type Examination = {
  readonly depth: Depth;
  readonly clock: Clock;
  /** Called with what is examined next, if that may take long. */
  readonly begins: (what: string) => void;
};

/** Checks everything that can be checked from here. */
export async function examine(
  options: DaemonOptions,
  { depth, clock, begins }: Examination,
): Promise<readonly Finding[]> {
  const resolve = createResolve();
  const opened = openConfigFile(options.config);
  if (opened.kind === "unreadable") {
    return [...judgeConfig(opened), ...judgeDaemon(await lookAtDaemon(options, resolve, null))];
  }
  const { file, inspected, outbox } = inspect(opened, resolve, clock);
  begins("asking the daemon");
  const daemon = await lookAtDaemon(options, resolve, outbox?.path ?? null);
  begins("checking the outbox");
  const store = outbox?.postgres === null ? await lookBesideDaemon(outbox.path, depth, daemon) : null;
  return [
    ...judgeConfig(configFacts(file, inspected, daemon)),
    ...judgeSecrets(guardedFiles({ file, inspected, outbox })),
    ...(store ? judgeStore(store.facts) : await examineDatabase(outbox)),
    ...(outbox?.postgres === null ? judgeAlias(outbox.path, aliasOf(outbox.path)) : []),
    ...(outbox?.postgres === null ? judgeDisk(diskFacts(outbox)) : [unseen("disk", outbox)]),
    ...judgeClock({ ...clockFacts(clock), seenAt: store?.seenAt ?? null }),
    ...judgeFiles(filesOf(daemon)),
    ...judgeDaemon(daemon),
    ...(await examineWebhooks({ inspected, file, resolve }, { clock, begins })),
  ];
}

async function examineDatabase(outbox: Outbox | null): Promise<readonly Finding[]> {
  if (!outbox?.postgres) return [unseen("store", outbox)];
  const { lookAtDatabase } = await import("../outbox-database.ts");
  return judgeDatabase(await lookAtDatabase(outbox, outbox.postgres));
}

function unseen(check: "store" | "disk", outbox: Outbox | null): Finding {
  if (outbox === null) return findingsOf(check).skipped("unseen", NO_OUTBOX);
  return findingsOf(check).skipped(
    "outbox_is_database",
    `${outbox.path} is a database: its disk is that of the PostgreSQL server`,
  );
}

const NO_OUTBOX = "the path of the outbox is not known until the config is fixed";

/**
 * The errors and warnings that can be found without asking other machines, besides those in the daemon's own status. None if
 * the config cannot be read.
 */
export function examineAround(options: DaemonOptions, status: DaemonStatus, clock: Clock): readonly Finding[] {
  const opened = openConfigFile(options.config);
  if (opened.kind === "unreadable") return [];
  const { file, inspected, outbox } = inspect(opened, createResolve(), clock);
  const daemon: DaemonFacts = { kind: "answers", status, version: VERSION, outbox: null };
  const found = [
    ...judgeConfig(configFacts(file, inspected, daemon)),
    ...judgeSecrets(guardedFiles({ file, inspected, outbox })),
    ...(outbox?.postgres === null ? judgeDisk(diskFacts(outbox)) : []),
    ...judgeClock({ ...clockFacts(clock), seenAt: null }),
    ...judgeFiles(filesOf(daemon)),
  ];
  return found.filter(({ level }) => level === "error" || level === "warning");
}

/**
 * If the running daemon has another file open, the one at the path says nothing, and opening it could damage what remains.
 */
async function lookBesideDaemon(path: string, depth: Depth, daemon: DaemonFacts): Promise<StoreLook> {
  const outbox = daemon.kind === "answers" && daemon.status.outbox.path === path ? daemon.status.outbox : null;
  if (outbox?.gone) return { facts: { kind: "gone", ...outbox.gone }, seenAt: null };
  const found = await lookAtStore(path, depth);
  if (outbox === null || found.facts.kind !== "missing") return found;
  return { facts: { kind: "gone", path, what: "removed", since: null }, seenAt: null };
}

type Outbox = Pick<Config["outbox"], "path" | "postgres" | "maxSize" | "freeDisk">;
/** `outbox`: null if the config does not say where it is, which is itself a problem. */
type Installation = { readonly file: string; readonly inspected: Loaded; readonly outbox: Outbox | null };

/** Checks the config, without file modes and disk space: those are examined here in more detail. */
function inspect(
  opened: { readonly file: string; readonly text: string },
  resolve: Resolve,
  clock: Clock,
): Installation {
  const quiet: Resolve = {
    ...resolve,
    file(path) {
      const found = resolve.file(path);
      return found.ok ? { ...found, worldReadable: false } : found;
    },
  };
  const credentials = resolve.env("CREDENTIALS_DIRECTORY") ? "at hand" : "unit only";
  const file = fullPathOf(opened.file);
  const inspected = loadConfig({
    file,
    text: opened.text,
    resolve: quiet,
    credentials,
    isFolder,
    now: clock.wall(),
  });
  const part = readOutboxPart({ ...opened, resolve });
  return { file, inspected, outbox: "faulty" in part ? null : { ...part, path: placeOf(part.path) } };
}

function clockFacts(clock: Clock): Omit<ClockFacts, "seenAt"> {
  return { wall: clock.wall(), synchronized: isClockSynchronized(), builtAt: clock.builtAt };
}

function configFacts(file: string, inspected: Loaded, daemon: DaemonFacts): ConfigFacts {
  const said = daemon.kind === "answers" ? daemon.status.config : null;
  return {
    kind: "read",
    file,
    problems: inspected.problems,
    summary: summary(inspected),
    modifiedAt: Math.max(...inspected.configFiles.map((path) => storedFile(path)?.modifiedAt ?? 0)),
    daemon: said && { file: fullPathOf(said.file), readAt: Date.parse(said.readAt), refused: said.refused !== null },
  };
}

async function lookAtDaemon(options: DaemonOptions, resolve: Resolve, outbox: string | null): Promise<DaemonFacts> {
  const daemon = findDaemon(options, resolve);
  if ("code" in daemon) return { kind: "closed", message: daemon.message };
  const question = { path: "/api/status", answer: status };
  const exchange = await send(daemon, question);
  const answer = readAnswer(exchange, { daemon, question });
  if ("value" in answer) return { kind: "answers", status: withFullPath(answer.value), version: VERSION, outbox };
  if (exchange.kind === "failed" && isNobodyThere(exchange.code)) {
    return { kind: "down", message: `no daemon answers at ${daemon.base} (${daemon.from})` };
  }
  return { kind: "closed", message: answer.message };
}

/** A daemon started by hand may know its outbox by a relative path. */
function withFullPath(status: DaemonStatus): DaemonStatus {
  return { ...status, outbox: { ...status.outbox, path: placeOf(status.outbox.path) } };
}

/** The full path of a file; the URL of a database as it is. */
function placeOf(path: string): string {
  return /^[a-z]+:\/\//i.test(path) ? path : fullPathOf(path);
}

function diskFacts({ path, maxSize, freeDisk }: Outbox): DiskFacts {
  const space = spaceFor(path);
  const copies = namesIn(dirname(path))
    .filter((name) => isCopyOf(basename(path), name))
    .map((name) => join(dirname(path), name))
    .map((copy) => ({ path: copy, size: storedFile(copy)?.size ?? 0 }));
  return { outbox: path, maxSize, freeDisk, space, used: space?.used ?? 0, copies };
}

function isCopyOf(outbox: string, name: string): boolean {
  const rest = name.startsWith(outbox) ? name.slice(outbox.length) : "";
  return /^\.(schema-\d+|before-restore-\w+|rescued|part)(\.part)?$/.test(rest);
}

function filesOf(daemon: DaemonFacts) {
  if (daemon.kind !== "answers") return { of: "here", ...openFilesOf("self") } as const;
  return { of: "daemon", ...openFilesOf(daemon.status.pid) } as const;
}

/** The files with secrets or events: those of the config that contain a secret, those that it names, and the outbox. */
function guardedFiles({ file, inspected, outbox }: Installation): readonly GuardedFile[] {
  const secrets = new Set([...referredFiles(inspected), ...keyFiles(inspected.tree, file)]);
  const written = inspected.tree ? ownSecrets(inspected.tree, inspected.origins) : [];
  for (const { at } of written) secrets.add(inspected.placeOf(at).file);
  const guarded = [...secrets].map((path) => lookAtFile(path, "secrets"));
  return outbox?.postgres === null && storedFile(outbox.path)
    ? [...guarded, lookAtFile(outbox.path, "events")]
    : guarded;
}

function lookAtFile(path: string, holds: GuardedFile["holds"]): GuardedFile {
  return { path, holds, mode: storedFile(path)?.mode ?? null, inOpenFolders: isInOpenFolders(path) };
}

function referredFiles({ origins }: Loaded): readonly string[] {
  return [...origins.values()].flat().flatMap((origin) => (origin.kind === "file" ? [origin.path] : []));
}

/** Private keys are named without a reference. */
function keyFiles(tree: Tree | null, file: string): readonly string[] {
  const root = tree ?? undefined;
  const destinations = [...mapOf(child(root, "destinations")).values()];
  const webhooks = destinations.flatMap((destination) => listOf(child(destination, "webhooks")));
  const notified = mapOf(child(root, "notify")).values();
  const keys = [child(root, "ingest", "tls"), child(root, "outbox", "tls"), ...webhooks, ...notified].map((part) =>
    textOf(child(part, "key")),
  );
  return keys.flatMap((key) => (key === null ? [] : [fullPath(key, file)]));
}
