import { basename, dirname, resolve as fullPathOf, join } from "node:path";
import { type Inspected, inspectConfig } from "../../config/load.ts";
import { readOutboxPart } from "../../config/parts.ts";
import type { Clock, Resolve } from "../../model/ports.ts";
import { isClockSynchronized } from "../../runtime/clock.ts";
import { createResolve } from "../../runtime/config-files.ts";
import { aliasOf, spaceFor } from "../../runtime/disk.ts";
import { openFilesOf } from "../../runtime/process.ts";
import { isFolder, namesIn, storedFile } from "../../runtime/stored-file.ts";
import { VERSION } from "../../runtime/version.ts";
import { summary } from "../check.ts";
import { openConfigFile } from "../config-file.ts";
import { type DaemonOptions, findDaemon, isNobodyThere, readSaid, send } from "../daemon.ts";
import { isStatus, type SaidStatus } from "../status/said.ts";
import { type ClockFacts, judgeClock } from "./clock.ts";
import { type ConfigFacts, judgeConfig } from "./config.ts";
import { type DaemonFacts, judgeDaemon } from "./daemon.ts";
import { type DiskFacts, judgeDisk } from "./disk.ts";
import { judgeFiles } from "./files.ts";
import { type Finding, say } from "./finding.ts";
import { guardedFiles } from "./look-secrets.ts";
import { type Depth, lookAtStore, type StoreLook } from "./look-store.ts";
import { lookAtWebhooks } from "./look-webhooks.ts";
import { judgeSecrets } from "./secrets.ts";
import { judgeAlias, judgeStore } from "./store.ts";
import { judgeWebhooks } from "./webhooks.ts";

export type ExamineOptions = DaemonOptions & { readonly depth: Depth };

/**
 * What is wrong here, as far as that can be seen at once and without asking anybody: beside what a daemon that answers says
 * of itself. Nothing if the config cannot be read.
 */
export function examineAround(options: DaemonOptions, status: SaidStatus, clock: Clock): readonly Finding[] {
  const resolve = createResolve();
  const opened = openConfigFile(options.config);
  if (opened.kind === "unreadable") return [];
  const outbox = outboxOf(opened, resolve);
  const file = fullPathOf(opened.file);
  const inspected = inspect({ ...opened, file }, resolve, clock);
  const daemon: DaemonFacts = { kind: "answers", status, version: VERSION, outbox: null };
  const found = [
    ...judgeConfig(configFacts(file, inspected, daemon)),
    ...judgeSecrets(guardedFiles({ file, inspected, outbox: outbox?.path ?? null })),
    ...(outbox ? judgeDisk(diskFacts(outbox)) : []),
    ...judgeClock({ ...clockFacts(clock), seenAt: null }),
    ...judgeFiles(filesOf(daemon)),
  ];
  return found.filter(({ level }) => level === "error" || level === "warning");
}

/** Looks at everything that can be looked at from here, and judges it. */
export async function examine(options: ExamineOptions, clock: Clock): Promise<readonly Finding[]> {
  const resolve = createResolve();
  const opened = openConfigFile(options.config);
  const outbox = opened.kind === "read" ? outboxOf(opened, resolve) : null;
  const daemon = await lookAtDaemon(options, resolve, outbox?.path ?? null);
  if (opened.kind === "unreadable") return [...judgeConfig(opened), ...judgeDaemon(daemon)];
  const file = fullPathOf(opened.file);
  const inspected = inspect({ ...opened, file }, resolve, clock);
  const [store, webhooks] = [
    outbox && (await lookBesideDaemon(outbox.path, options.depth, daemon)),
    { inspected, file, resolve, clock },
  ];
  return [
    ...judgeConfig(configFacts(file, inspected, daemon)),
    ...judgeSecrets(guardedFiles({ file, inspected, outbox: outbox?.path ?? null })),
    ...(store ? judgeStore(store.facts) : [say("store").skipped("unseen", NO_OUTBOX)]),
    ...(outbox ? judgeAlias(outbox.path, aliasOf(outbox.path)) : []),
    ...(outbox ? judgeDisk(diskFacts(outbox)) : [say("disk").skipped("unseen", NO_OUTBOX)]),
    ...judgeClock({ ...clockFacts(clock), seenAt: store?.seenAt ?? null }),
    ...judgeFiles(filesOf(daemon)),
    ...judgeDaemon(daemon),
    ...judgeWebhooks(await lookAtWebhooks(webhooks), clock.wall()),
  ];
}

const NO_OUTBOX = "where the outbox is cannot be known before the config is mended";

/** What is at the path says nothing while the daemon has another file open; and who opened it could spoil what is left. */
async function lookBesideDaemon(path: string, depth: Depth, daemon: DaemonFacts): Promise<StoreLook> {
  const outbox = daemon.kind === "answers" && daemon.status.outbox.path === path ? daemon.status.outbox : null;
  if (outbox?.gone) return { facts: { kind: "gone", ...outbox.gone }, seenAt: null };
  const found = await lookAtStore(path, depth);
  if (outbox === null || found.facts.kind !== "missing") return found;
  return { facts: { kind: "gone", path, what: "removed", since: null }, seenAt: null };
}

type Opened = { readonly file: string; readonly text: string };
type Outbox = { readonly path: string; readonly maxSize: number; readonly freeDisk: number };

/** Null if the config does not say: what is wrong with it is told as the config's. */
function outboxOf(opened: Opened, resolve: Resolve): Outbox | null {
  const part = readOutboxPart({ ...opened, resolve });
  return "faulty" in part ? null : { ...part, path: fullPathOf(part.path) };
}

/** The modes of files and the room on the disk are looked at here in more detail: of those the config says nothing. */
function inspect({ file, text }: Opened, resolve: Resolve, clock: Clock): Inspected {
  const quiet: Resolve = {
    ...resolve,
    file(path) {
      const found = resolve.file(path);
      return found.ok ? { ...found, worldReadable: false } : found;
    },
  };
  const credentials = resolve.env("CREDENTIALS_DIRECTORY") ? "at hand" : "unit only";
  return inspectConfig({ file, text, resolve: quiet, credentials, isFolder, now: clock.wall() });
}

function clockFacts(clock: Clock): Omit<ClockFacts, "seenAt"> {
  return { wall: clock.wall(), synchronized: isClockSynchronized(), builtAt: clock.builtAt };
}

function configFacts(file: string, inspected: Inspected, daemon: DaemonFacts): ConfigFacts {
  const said = daemon.kind === "answers" ? daemon.status.config : null;
  return {
    ...{ kind: "read", file, problems: inspected.problems, summary: summary(inspected) },
    modifiedAt: storedFile(file)?.modifiedAt ?? 0,
    daemon: said && { file: fullPathOf(said.file), readAt: Date.parse(said.readAt), refused: said.refused !== null },
  };
}

async function lookAtDaemon(options: DaemonOptions, resolve: Resolve, outbox: string | null): Promise<DaemonFacts> {
  const daemon = findDaemon(options, resolve);
  if ("code" in daemon) return { kind: "closed", message: daemon.message };
  const question = { path: "/api/status", isSaid: isStatus };
  const exchange = await send(daemon, question);
  const answer = readSaid(exchange, { daemon, question });
  if ("said" in answer) return { kind: "answers", status: withFullPath(answer.said), version: VERSION, outbox };
  if (exchange.kind === "failed" && isNobodyThere(exchange.code)) {
    return { kind: "down", message: `no daemon answers at ${daemon.base} (${daemon.from})` };
  }
  return { kind: "closed", message: answer.message };
}

/** A daemon that was started by hand may know its outbox by a relative path. */
function withFullPath(status: SaidStatus): SaidStatus {
  return { ...status, outbox: { ...status.outbox, path: fullPathOf(status.outbox.path) } };
}

function diskFacts({ path, maxSize, freeDisk }: Outbox): DiskFacts {
  const found = spaceFor(path);
  const copies = namesIn(dirname(path)).filter((name) => isCopyOf(basename(path), name));
  return {
    ...{ outbox: path, maxSize, freeDisk, space: found, used: found?.used ?? 0 },
    copies: copies
      .map((name) => join(dirname(path), name))
      .map((copy) => ({ path: copy, size: storedFile(copy)?.size ?? 0 })),
  };
}

function isCopyOf(outbox: string, name: string): boolean {
  const rest = name.startsWith(outbox) ? name.slice(outbox.length) : "";
  return /^\.(schema-\d+|before-restore-\w+|rescued|part)(\.part)?$/.test(rest);
}

function filesOf(daemon: DaemonFacts) {
  if (daemon.kind !== "answers") return { of: "here", ...openFilesOf("self") } as const;
  return { of: "daemon", ...openFilesOf(daemon.status.pid) } as const;
}
