import type { Clock } from "../model/ports.ts";
import { type Ms, SECOND } from "../model/units.ts";
import { createClock } from "../runtime/clock.ts";
import { isErrorTerminal, print, printError } from "../runtime/output.ts";
import { type Complaint, complain } from "./complain.ts";
import { confirm } from "./confirm.ts";
import { askDaemon, type DaemonOptions, explainDestination, type Refusal } from "./daemon.ts";
import { EXIT, type ExitCode } from "./exit.ts";
import { printable } from "./printable.ts";
import { onInterrupt } from "./progress.ts";

/** A way to end the waiting of deliveries that nobody serves. */
export type Way<Page> = Wish<Page> & {
  /** The destination that they wait for. */
  readonly from: string;
  /** What a person is asked before, as `Discard them?`. */
  readonly question: string;
  /** What would become of them, as `would become failed`. */
  readonly prospect: string;
  /** What else a program is told on a dry run. */
  readonly wish: object;
  /** How many deliveries a page has done. */
  readonly countOf: (page: Page) => number;
  /** What all pages together have done, for people and for programs. */
  readonly toWords: (pages: readonly Page[]) => string;
  readonly toJson: (pages: readonly Page[]) => object;
};

export type EndOptions = DaemonOptions & { readonly dryRun?: boolean; readonly yes?: boolean; readonly json?: boolean };

/** As many as the daemon does at once. */
const IN_PAGE = 1_000;

/** Says how many deliveries are concerned, makes sure that it is meant, and has the daemon do it page by page. */
export async function endWaiting<Page extends { readonly more: boolean }>(
  way: Way<Page>,
  options: EndOptions,
): Promise<ExitCode> {
  const { path, body, question } = way;
  const counted = await askPage(options, { path, body: { ...body, dryRun: true }, isSaid: isWaiting });
  if (counted.kind === "refused") return complain(counted.why);
  const { waiting } = counted.page;
  const about = aboutOf(waiting, way.from);
  if (options.dryRun) return tellPlan(way, waiting, options);
  const mayStart = waiting === 0 || options.yes === true;
  const refusal = mayStart ? null : await confirm({ about, question });
  if (refusal !== null) return complain(refusal);
  // Whoever was asked knows.
  if (mayStart && !options.json) print(`${about}.`);
  if (waiting === 0) return tell(way, { waiting, pages: [], ended: "done" }, options);
  return tell(way, await work(way, waiting, options), options);
}

function tellPlan<Page>({ from, prospect, wish }: Way<Page>, waiting: number, { json }: EndOptions): ExitCode {
  const plan = waiting === 0 ? "" : `, and ${prospect}`;
  print(
    json
      ? printable(JSON.stringify({ destination: from, ...wish, waiting, dryRun: true }))
      : `${aboutOf(waiting, from)}${plan}. Nothing was done.`,
  );
  return EXIT.done;
}

type Work<Page> = { readonly waiting: number; readonly pages: readonly Page[]; readonly ended: Ended };

async function work<Page extends { readonly more: boolean }>(
  way: Way<Page>,
  waiting: number,
  options: EndOptions,
): Promise<Work<Page>> {
  const pages: Page[] = [];
  const interrupting = new AbortController();
  // The page under way is finished.
  const unhook = onInterrupt(() => interrupting.abort());
  const ended = await doPages<Page>({
    ask: () => askPage(options, { ...way, body: { ...way.body, limit: IN_PAGE } }),
    took(page) {
      pages.push(page);
      showProgress(progressOf(sum(way, pages), waiting));
    },
    interrupted: interrupting.signal,
    clock: createClock(),
  });
  unhook();
  showProgress("");
  return { waiting, pages, ended };
}

/** Over the text before it. */
function showProgress(text: string): void {
  if (isErrorTerminal()) printError(`\r\u001b[K${text}`);
}

function sum<Page>({ countOf }: Way<Page>, pages: readonly Page[]): number {
  return pages.reduce((total, page) => total + countOf(page), 0);
}

function tell<Page>(way: Way<Page>, { waiting, pages, ended }: Work<Page>, { json }: EndOptions): ExitCode {
  const done = sum(way, pages);
  if (json) print(printable(JSON.stringify({ destination: way.from, ...way.toJson(pages), more: ended !== "done" })));
  else if (done > 0) print(way.toWords(pages));
  return ended === "done" ? EXIT.done : complain(complaintOf(ended, { done, waiting }));
}

/** What `fairlead move` and `fairlead discard` post, and what they understand of the answer. */
type Wish<Said> = {
  readonly path: string;
  readonly body: object;
  readonly isSaid: (said: unknown) => said is Said;
};

/** Asks the daemon for a page, or on a dry run how many deliveries wait. */
async function askPage<Said>(options: DaemonOptions, wish: Wish<Said>): Promise<Answer<Said>> {
  let busy = false;
  const explain = (refusal: Refusal): Complaint | null => {
    busy = refusal.code === "destination_busy";
    return explainDestination(refusal);
  };
  const answer = await askDaemon(options, { ...wish, explain });
  return "code" in answer ? { kind: "refused", why: answer, busy } : { kind: "page", page: answer.said };
}

function isWaiting(said: unknown): said is { readonly waiting: number } {
  return hasNumbers(said, "waiting");
}

/** Whether all of these keys have a count. */
export function hasNumbers<Key extends string>(said: unknown, ...keys: readonly Key[]): said is Record<Key, number> {
  if (typeof said !== "object" || said === null) return false;
  const values = said as Record<string, unknown>;
  return keys.every((key) => Number.isSafeInteger(values[key]));
}

export function hasMore(said: object): boolean {
  return "more" in said && typeof said.more === "boolean";
}

/** How long attempts that were begun before may go on running: a receiver has five seconds, and writing takes a while. */
const PATIENCE: Ms = 15 * SECOND;

/** The daemon's answer when it was asked for a page. `busy`: it asks for patience. */
export type Answer<Page> =
  | { readonly kind: "page"; readonly page: Page }
  | { readonly kind: "refused"; readonly why: Complaint; readonly busy: boolean };

type PagesWorld<Page> = {
  /** Has the daemon do the next page. */
  readonly ask: () => Promise<Answer<Page>>;
  /** Hears of each page that is done. */
  readonly took: (page: Page) => void;
  /** Aborted: the page under way is the last. */
  readonly interrupted: AbortSignal;
  readonly clock: Pick<Clock, "now" | "sleep">;
};

type Ended = "done" | "interrupted" | Complaint;

/** Has the daemon do page after page until there is no more. Answers `done`, or why it ended before. */
export async function doPages<Page extends { readonly more: boolean }>(world: PagesWorld<Page>): Promise<Ended> {
  while (!world.interrupted.aborted) {
    const answer = await askPatiently(world);
    if (answer.kind === "refused") return answer.busy && world.interrupted.aborted ? "interrupted" : answer.why;
    world.took(answer.page);
    if (!answer.page.more) return "done";
  }
  return "interrupted";
}

async function askPatiently<Page>({ ask, interrupted, clock }: PagesWorld<Page>): Promise<Answer<Page>> {
  const until = clock.now() + PATIENCE;
  let answer = await ask();
  while (answer.kind === "refused" && answer.busy && clock.now() < until && !interrupted.aborted) {
    await clock.sleep(SECOND, interrupted);
    if (!interrupted.aborted) answer = await ask();
  }
  return answer;
}

/** `1,234`. */
export function format(count: number): string {
  return count.toLocaleString("en");
}

/** `7 deliveries`. */
export function deliveries(count: number): string {
  return count === 1 ? "1 delivery" : `${format(count)} deliveries`;
}

/** `7 deliveries wait for old`. */
export function aboutOf(waiting: number, from: string): string {
  const name = printable(from);
  if (waiting === 0) return `No delivery waits for ${name}`;
  return `${deliveries(waiting)} ${waiting === 1 ? "waits" : "wait"} for ${name}`;
}

/** `500 of 1,234`. More may wait by now than were counted. */
export function progressOf(done: number, waiting: number): string {
  return `${format(done)} of ${format(Math.max(done, waiting))}`;
}

type Progress = { readonly done: number; readonly waiting: number };

/** Why not all was done, and how far it came. */
export function complaintOf(ended: Exclude<Ended, "done">, { done, waiting }: Progress): Complaint {
  const progress = progressOf(done, waiting);
  if (ended === "interrupted") {
    return {
      code: EXIT.failed,
      message: `interrupted: ${progress} are done, the others go on waiting`,
      error: "interrupted",
    };
  }
  return done === 0 ? ended : { ...ended, message: `${ended.message}; ${progress} were done before` };
}
