import type { Clock } from "../../model/ports.ts";
import { type Ms, SECOND } from "../../model/units.ts";
import type { Complaint } from "../complain.ts";

/** How long attempts that were begun before may go on running: a receiver has five seconds, and writing takes a while. */
const PATIENCE: Ms = 15 * SECOND;

/** The daemon's answer when it was asked for a page. `busy`: it asks for patience. */
export type Answer<Page> =
  | { readonly kind: "page"; readonly page: Page }
  | { readonly kind: "refused"; readonly why: Complaint; readonly busy: boolean };

export type PagesWorld<Page> = {
  /** Has the daemon do the next page. */
  readonly ask: () => Promise<Answer<Page>>;
  /** Hears of each page that is done. */
  readonly took: (page: Page) => void;
  /** Aborted: the page under way is the last. */
  readonly interrupted: AbortSignal;
  readonly clock: Pick<Clock, "now" | "sleep">;
};

export type Ended = "done" | "interrupted" | Complaint;

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
