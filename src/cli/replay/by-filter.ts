import { type At, parseDuration } from "../../model/units.ts";
import { createClock } from "../../runtime/clock.ts";
import { errorColumns, isErrorTerminal, print, printError } from "../../runtime/terminal.ts";
import { type Complaint, complain } from "../complain.ts";
import { askDaemon } from "../daemon/ask.ts";
import type { DaemonOptions } from "../daemon/find.ts";
import { type Filter, filterOf } from "../deliveries/filter.ts";
import { EXIT, type ExitCode } from "../exit.ts";
import { printable } from "../printable.ts";
import { createProgressBar, onInterrupt } from "../progress.ts";
import { confirm } from "../unserved/confirm.ts";
import { type Ended, goThrough, NOTHING, type PagesWorld, type Total } from "./pages.ts";
import { isPage, type SaidPage } from "./said.ts";
import { complaintOf, goneMeanwhile, toPlan, toQuestion, toResult } from "./words.ts";

export type FilterOptions = DaemonOptions &
  Filter & { readonly dryRun?: boolean; readonly rate?: number; readonly yes?: boolean; readonly json?: boolean };

/** Counts what is wanted, makes sure that it is meant, and has the daemon send it again page by page. */
export async function replayByFilter(options: FilterOptions): Promise<ExitCode> {
  const clock = createClock();
  const filter = fixTimes(filterOf(options), clock.wall());
  const interrupting = new AbortController();
  const unhook = onInterrupt(() => interrupting.abort());
  const world = { clock, interrupted: interrupting.signal };
  const ask = (dryRun: boolean): PagesWorld["ask"] => asker(options, { filter, dryRun });
  try {
    const counted = await goThrough({ ...world, ask: ask(true), rate: null, took: () => {} });
    const plan = counted.total;
    if (counted.ended !== "done") return complain(complaintOf(counted.ended, 0, plan.replayed));
    if (options.dryRun) return tell(plan, options, toPlan(plan));
    if (plan.replayed === 0) return tell(NOTHING, options, toPlan(plan));
    const refusal = options.yes ? null : await confirm(toQuestion(plan));
    if (refusal !== null) return complain(refusal);
    const bar = progressBar(clock);
    const took = (total: Total): void => bar.show(total.replayed, plan.replayed);
    const { total, ended } = await goThrough({ ...world, ask: ask(false), rate: options.rate ?? null, took });
    bar.clear();
    return conclude(total, options, { ended, counted: plan });
  } finally {
    unhook();
  }
}

/** A point in time that was so long ago is to be the same for all pages. */
function fixTimes(filter: Readonly<Record<string, string>>, now: At): Readonly<Record<string, string>> {
  const fix = (time: string): string => {
    const ago = parseDuration(time);
    return ago === null ? time : new Date(now - ago).toISOString();
  };
  const isTime = (name: string): boolean => name === "since" || name === "until";
  return Object.fromEntries(Object.entries(filter).map(([name, value]) => [name, isTime(name) ? fix(value) : value]));
}

type Wish = { readonly filter: Readonly<Record<string, string>>; readonly dryRun: boolean };

function asker(options: DaemonOptions, wish: Wish): PagesWorld["ask"] {
  return async (page): Promise<SaidPage | Complaint> => {
    const answer = await askDaemon(options, { path: "/api/replay", body: { ...wish, ...page }, isSaid: isPage });
    return "code" in answer ? answer : answer.said;
  };
}

function progressBar(clock: ReturnType<typeof createClock>) {
  const began = clock.now();
  const terminal = { write: printError, isTerminal: isErrorTerminal(), width: errorColumns, now: clock.now };
  const bar = createProgressBar(terminal);
  return {
    show: (done: number, total: number): void =>
      bar.show({ done, total: Math.max(done, total), elapsed: clock.now() - began }),
    clear: bar.clear,
  };
}

function tell(total: Total, { json, dryRun }: FilterOptions, words: string): ExitCode {
  print(json ? printable(JSON.stringify({ ...total, dryRun: dryRun === true })) : `${words}`);
  return EXIT.done;
}

type Outcome = { readonly ended: Ended; readonly counted: Total };

function conclude(total: Total, options: FilterOptions, { ended, counted }: Outcome): ExitCode {
  const wanted = counted.replayed;
  if (options.json || total.replayed > 0) tell(total, options, toResult(total));
  if (ended !== "done") return complain(complaintOf(ended, total.replayed, wanted));
  const newlyLeft = total.left - counted.left + (total.superseded ?? 0) - (counted.superseded ?? 0);
  const gone = wanted - total.replayed - newlyLeft;
  return gone > 0 ? complain({ code: EXIT.failed, message: goneMeanwhile(gone, wanted) }) : EXIT.done;
}
