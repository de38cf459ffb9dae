/** Counts a destination's waiting deliveries, and ends their wait for `fairlead move` and `discard`. */

import { printable } from "../client/show.ts";
import type { Clock } from "../model/ports.ts";
import { type Ms, SECOND } from "../model/units.ts";
import { createClock } from "../runtime/clock.ts";
import { print } from "../runtime/output.ts";
import { type discardedPage, type movedPage, waitingCount } from "../wire/deliveries.ts";
import type { Received } from "../wire/fields.ts";
import { type Complaint, complain, EXIT, type ExitCode } from "./command.ts";
import { confirm } from "./confirm.ts";
import { askDaemon, type DaemonOptions, destinationPath } from "./daemon.ts";
import { onInterrupt, openCounter } from "./progress.ts";

/** A way to end the wait of deliveries for a destination that is not served. */
export type Way = {
  /** The destination they wait for. */
  readonly from: string;
  readonly what: "discard" | "move";
  /** The body of the requests, besides the page size; also part of a dry run's JSON. */
  readonly body: object;
  readonly answer: typeof discardedPage | typeof movedPage;
  /** The question before it, such as `Discard them?`. */
  readonly question: string;
  /** What would happen to them, such as `would become failed`. */
  readonly prospect: string;
  /** The total, for people and for programs. */
  readonly toWords: (total: Total) => string;
  readonly toJson: (total: Total) => object;
};

/** `doubled`: those that were not moved because the event was already there. */
type Total = { readonly done: number; readonly doubled: number };

export type EndOptions = DaemonOptions & { readonly dryRun?: boolean; readonly yes?: boolean; readonly json?: boolean };

/** The most per request. */
const IN_PAGE = 1_000;

/** Prints how many deliveries are concerned, asks for confirmation, and has the daemon do it page by page. */
export async function endWaiting(way: Way, options: EndOptions): Promise<ExitCode> {
  const { from, what, body, question } = way;
  const path = destinationPath(from, what);
  const counted = await askDaemon(options, { path, body: { ...body, dryRun: true }, answer: waitingCount });
  if ("code" in counted) return complain(counted);
  const { waiting } = counted.value;
  if (options.dryRun) return printPlan(way, waiting, options);
  const about = aboutOf(waiting, from);
  const mayStart = waiting === 0 || options.yes === true;
  const refusal = mayStart ? null : await confirm({ about, question });
  if (refusal !== null) return complain(refusal);
  // The question has already shown it.
  if (mayStart && !options.json) print(`${about}.`);
  const { total, ended } = waiting === 0 ? NOTHING : await work(way, waiting, options);
  if (options.json) print(toJson(way, { ...way.toJson(total), more: ended !== "done" }));
  else if (total.done + total.doubled > 0) print(way.toWords(total));
  return ended === "done" ? EXIT.done : complain(complaintOf(ended, { done: total.done + total.doubled, waiting }));
}

function printPlan(way: Way, waiting: number, { json }: EndOptions): ExitCode {
  const plan = waiting === 0 ? "" : `, and ${way.prospect}`;
  if (json) print(toJson(way, { ...way.body, waiting, dryRun: true }));
  else print(`${aboutOf(waiting, way.from)}${plan}. Nothing was done.`);
  return EXIT.done;
}

function toJson({ from }: Way, what: object): string {
  return printable(JSON.stringify({ destination: from, ...what }));
}

type Work = { readonly total: Total; readonly ended: Ended };
const NOTHING: Work = { total: { done: 0, doubled: 0 }, ended: "done" };

async function work({ from, what, body, answer }: Way, waiting: number, options: EndOptions): Promise<Work> {
  const clock = createClock();
  const bar = openCounter(clock);
  const interrupting = new AbortController();
  const unhook = onInterrupt(() => interrupting.abort());
  let { total } = NOTHING;
  const question = { path: destinationPath(from, what), body: { ...body, limit: IN_PAGE }, answer };
  const ended = await doPages<Received<Way["answer"]>>({
    ask: () => askDaemon(options, question),
    took(page) {
      const { done, doubled } = "moved" in page ? { ...page, done: page.moved } : { done: page.discarded, doubled: 0 };
      total = { done: total.done + done, doubled: total.doubled + doubled };
      bar.show(total.done + total.doubled, waiting);
    },
    interrupted: interrupting.signal,
    clock,
  });
  unhook();
  bar.clear();
  return { total, ended };
}

/** How long earlier attempts may still run: a receiver has thirty seconds at most, and writing takes a while. */
const PATIENCE: Ms = 40 * SECOND;

export type PagesWorld<Page> = {
  /** Requests the next page. */
  readonly ask: () => Promise<{ readonly value: Page } | Complaint>;
  /** Called after each page. */
  readonly took: (page: Page) => void;
  /** When aborted, the current page is the last. */
  readonly interrupted: AbortSignal;
  readonly clock: Pick<Clock, "now" | "sleep">;
};

type Ended = "done" | "interrupted" | Complaint;

/** Requests page after page until there is no more. Answers `done`, or why it ended early. */
export async function doPages<Page extends { readonly more: boolean }>(world: PagesWorld<Page>): Promise<Ended> {
  while (!world.interrupted.aborted) {
    const answer = await askPatiently(world);
    if ("code" in answer) return isBusy(answer) && world.interrupted.aborted ? "interrupted" : answer;
    world.took(answer.value);
    if (!answer.value.more) return "done";
  }
  return "interrupted";
}

async function askPatiently<Page>({ ask, interrupted, clock }: PagesWorld<Page>) {
  const until = clock.now() + PATIENCE;
  let answer = await ask();
  while ("code" in answer && isBusy(answer) && clock.now() < until && !interrupted.aborted) {
    await clock.sleep(SECOND, interrupted);
    if (!interrupted.aborted) answer = await ask();
  }
  return answer;
}

function isBusy({ error }: Complaint): boolean {
  return error === "destination_busy";
}

/** `1,234`. */
export function format(count: number): string {
  return count.toLocaleString("en");
}

/** `7 deliveries`. */
export function deliveries(count: number): string {
  return count === 1 ? "1 delivery" : `${format(count)} deliveries`;
}

/** `7 deliveries are waiting for old`. */
export function aboutOf(waiting: number, from: string): string {
  const name = printable(from);
  if (waiting === 0) return `No delivery is waiting for ${name}`;
  return `${deliveries(waiting)} ${waiting === 1 ? "is" : "are"} waiting for ${name}`;
}

/** `500 of 1,234`. More may be waiting by now than were counted. */
export function progressOf(done: number, waiting: number): string {
  return `${format(done)} of ${format(Math.max(done, waiting))}`;
}

type Progress = { readonly done: number; readonly waiting: number };

/** Why it did not finish, and how far it came. */
export function complaintOf(ended: Exclude<Ended, "done">, { done, waiting }: Progress): Complaint {
  const progress = progressOf(done, waiting);
  if (ended === "interrupted") {
    return {
      code: EXIT.failed,
      message: `interrupted: ${progress} are done, the others are still waiting`,
      error: "interrupted",
    };
  }
  return done === 0 ? ended : { ...ended, message: `${ended.message}; ${progress} are done` };
}
