/** Runs works one after the other, in the order of the calls. */
export type InTurn = <T>(work: () => Promise<T>) => Promise<T>;

export function createTurns(): InTurn {
  let turn: Promise<unknown> = Promise.resolve();
  return function inTurn(work) {
    const result = turn.then(work);
    turn = result.catch(() => {});
    return result;
  };
}
