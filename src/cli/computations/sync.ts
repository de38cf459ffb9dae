import { HOUR, type Ms, SECOND } from "../../model/units.ts";
import { createClock } from "../../runtime/clock.ts";
import { openBytes } from "../../runtime/input.ts";
import { errorColumns, isErrorTerminal, print, printError } from "../../runtime/output.ts";
import { type Complaint, complain } from "../complain.ts";
import { askDaemon } from "../daemon/ask.ts";
import type { DaemonOptions } from "../daemon/find.ts";
import { EXIT, type ExitCode } from "../exit.ts";
import { printable } from "../printable.ts";
import { createProgressBar, type ProgressBar } from "../progress.ts";
import { explainComputation, pathOf } from "./ask.ts";
import { headersFor } from "./format.ts";
import { isShown, isSynced, type Kind, type SaidSync, type SaidSynced } from "./said.ts";
import { toResult } from "./words.ts";

export type SyncOptions = DaemonOptions & {
  readonly source: string;
  readonly format?: string;
  readonly dryRun?: boolean;
  readonly allowShrink?: boolean;
  readonly json?: boolean;
};

/** The daemon may take an hour to read a list, and then compares it. */
const LONGEST: Ms = HOUR + 10 * 60 * SECOND;

type Place = { readonly kind: Kind; readonly name: string };

/** Sends a list to the daemon, shows how far it is, and waits until all that it changes is in the outbox. */
export async function syncList(place: Place, file: string, options: SyncOptions): Promise<ExitCode> {
  const bar = createBar();
  const sent = await send(place, { file, options, bar });
  if ("code" in sent) {
    bar.clear();
    return complain(sent);
  }
  const done = await follow(place, { said: sent, options, bar });
  bar.clear();
  if ("code" in done) return complain(done);
  print(options.json ? printable(JSON.stringify(done)) : toResult(place.kind, place.name, done));
  return EXIT.done;
}

type Bar = Pick<ProgressBar, "clear"> & { show(done: number, total: number | null): void };

function createBar(): Bar {
  const clock = createClock();
  const terminal = { write: printError, isTerminal: isErrorTerminal(), width: errorColumns, now: clock.now };
  const bar = createProgressBar(terminal);
  const began = clock.now();
  return { clear: bar.clear, show: (done, total) => bar.show({ done, total, elapsed: clock.now() - began }) };
}

type Sending = { readonly file: string; readonly options: SyncOptions; readonly bar: Bar };

async function send({ kind, name }: Place, { file, options, bar }: Sending): Promise<SaidSynced | Complaint> {
  const headers = headersFor(file, options.format);
  if ("code" in headers) return headers as Complaint;
  const opened = await openBytes(file === "-" ? null : file);
  if (!opened.ok) return { code: EXIT.usage, message: `cannot read ${file}: ${opened.why}` };
  const { source } = opened;
  const body = { source, sent: (bytes: number) => bar.show(bytes, source.size) };
  const query = new URLSearchParams({
    ...(options.dryRun && { dryRun: "1" }),
    ...(options.allowShrink && { allowShrink: "1" }),
  });
  const path = `${pathOf(kind, options.source, name)}${query.size > 0 ? `?${query}` : ""}`;
  const by = { method: "PUT", headers, body, timeout: LONGEST };
  const answer = await askDaemon(options, { path, by, isSaid: isSynced, explain: explainComputation });
  await source.close();
  return "code" in answer ? answer : answer.said;
}

type Following = { readonly said: SaidSynced; readonly options: SyncOptions; readonly bar: Bar };

/** A daemon that is started again meanwhile goes on with it: so does this. */
async function follow({ kind, name }: Place, { said, options, bar }: Following): Promise<SaidSynced | Complaint> {
  const { added, changed, removed } = said;
  const clock = createClock();
  let sync: SaidSync | null = said.sync;
  while (sync !== null && sync.state !== "finished") {
    bar.show(sync.done, added + changed + removed);
    await clock.sleep(SECOND, new AbortController().signal);
    const question = { path: pathOf(kind, options.source, name), isSaid: isShown(kind), explain: explainComputation };
    const answer = await askDaemon(options, question);
    if ("code" in answer) return answer;
    const { number }: SaidSync = sync;
    sync = answer.said.syncs.find((one) => one.number === number) ?? null;
  }
  return { ...said, sync: sync ?? said.sync };
}
