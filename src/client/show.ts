/**
 * Any value as text. A program may throw whatever it likes, and `String` throws in turn at what has no usable
 * `toString`: then the promise that waits would never be settled. Never throws.
 */
export function show(value: unknown): string {
  return guarded(() => (typeof value === "string" ? JSON.stringify(value.slice(0, MOST_SHOWN)) : String(value)));
}

const MOST_SHOWN = 100;

/** What was thrown, and where. Never throws. */
export function showThrown(error: unknown): string {
  return guarded(() => (error instanceof Error ? `${error.stack ?? error.message}` : String(error)));
}

/** What was thrown, as a clause. Node's fetch says only that it failed, and keeps the reason beneath. Never throws. */
export function showCauses(error: unknown): string {
  return guarded(() => {
    if (!(error instanceof Error)) return String(error);
    const { cause } = error;
    return cause instanceof Error && cause.message !== "" ? `${error.message}: ${cause.message}` : `${error.message}`;
  });
}

function guarded(make: () => string): string {
  try {
    return make();
  } catch {
    return "a value that has no text";
  }
}
