/** Nothing that a test waits for takes so long, however busy the machine is. In milliseconds. */
export const PATIENCE = 60_000;
/** For tests that wait for real programs: Bun gives a test five seconds if it asks for nothing else. */
export const PATIENT = { timeout: 2 * PATIENCE };

export type Waiting = {
  /** To be called whenever something has changed. */
  look(): void;
  /** Resolves when it is so. Rejects when patience is over, and says how far it came. */
  until(isSo: () => boolean, describe: () => string): Promise<void>;
};

/** Waits for what happens, instead of for time to pass. */
export function createWaiting(): Waiting {
  const looks = new Set<() => void>();
  return {
    look() {
      for (const look of looks) look();
    },
    until(isSo, describe) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const timer = setTimeout(() => reject(new Error(`after ${PATIENCE / 1_000} s ${describe()}`)), PATIENCE);
      const look = (): void => void (isSo() && resolve());
      looks.add(look);
      look();
      return promise.finally(() => {
        clearTimeout(timer);
        looks.delete(look);
      });
    },
  };
}
