/**
 * Work in steps: it yields where other work may have its turn, after a few hundred characters of the file or a few dozen of its
 * keys. A large config takes long to read, and calls come in while the daemon reloads it.
 */
export type Steps<Result> = Generator<void, Result, void>;

/** Does all steps without a pause: nothing else happens during a start or a command. */
export function atOnce<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** Does each step in a turn of its own. */
export async function inTurns<Result>(steps: Steps<Result>, nextTurn: () => Promise<void>): Promise<Result> {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
    await nextTurn();
  }
}
