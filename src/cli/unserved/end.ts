import { createClock } from "../../runtime/clock.ts";
import { isErrorTerminal, print, printError } from "../../runtime/terminal.ts";
import { complain } from "../complain.ts";
import type { DaemonOptions } from "../daemon/find.ts";
import { EXIT, type ExitCode } from "../exit.ts";
import { printable } from "../printable.ts";
import { onInterrupt } from "../progress.ts";
import { askPage, isWaiting, type Wish } from "./ask.ts";
import { confirm } from "./confirm.ts";
import { doPages, type Ended } from "./pages.ts";
import { aboutOf, complaintOf, progressOf } from "./words.ts";

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
