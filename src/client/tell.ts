import { showThrown } from "./show.ts";

/**
 * Calls a function of the program's. If it throws, or its promise rejects, that is written down and changes nothing:
 * the library has calls to send, and no promise may be left unhandled.
 */
export function tell<T>(listener: (value: T) => unknown, value: T, log: (line: string) => void): void {
  try {
    const result = listener(value);
    if (isThenable(result)) result.then(undefined, (error: unknown) => complain(error, log));
  } catch (error) {
    complain(error, log);
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

function complain(error: unknown, log: (line: string) => void): void {
  log(`analytics: a callback has thrown: ${showThrown(error)}`);
}
