/**
 * Writes whose changes are counted in memory once they are committed pass it together. What has to find table and memory alike
 * passes it alone.
 */
export type Gate = {
  together<T>(work: () => Promise<T>): Promise<T>;
  alone<T>(work: () => Promise<T>): Promise<T>;
};

export function createGate(): Gate {
  let inside = 0;
  let emptied: (() => void) | null = null;
  let closed: Promise<void> | null = null;

  return {
    async together(work) {
      while (closed) await closed;
      inside += 1;
      try {
        return await work();
      } finally {
        inside -= 1;
        if (inside === 0) emptied?.();
      }
    },
    async alone(work) {
      while (closed) await closed;
      const { promise, resolve } = Promise.withResolvers<void>();
      closed = promise;
      try {
        if (inside > 0) await nobodyInside();
        return await work();
      } finally {
        emptied = null;
        closed = null;
        resolve();
      }
    },
  };

  function nobodyInside(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    emptied = resolve;
    return promise;
  }
}
