import process from "node:process";
import type { Cancel, ToldHooks } from "./platform.ts";

const SIGNALS = ["SIGTERM", "SIGINT"] as const;
type Signal = (typeof SIGNALS)[number];
/** What a shell makes of the end by a signal. */
const EXIT_CODES: Readonly<Record<Signal, number>> = { SIGTERM: 143, SIGINT: 130 };

const hooked = new Set<ToldHooks>();
let isEnding = false;

/**
 * Calls the hooks when the process gets such a signal, until cancelled. If nobody but this library listens to the signal, the
 * process then ends by it, as it would have at once. A program that listens ends itself when it wants to.
 */
export function onSignal(hooks: ToldHooks): Cancel {
  // Before the program's: a listener that it has added by `once` is gone when it has been called. Deno keeps to the order.
  if (hooked.size === 0) for (const signal of SIGNALS) process.prependListener(signal, hear);
  hooked.add(hooks);
  return () => {
    if (hooked.delete(hooks) && hooked.size === 0 && !isEnding) stopListening();
  };
}

function stopListening(): void {
  for (const signal of SIGNALS) process.off(signal, hear);
}

function hear(signal: Signal): void {
  if (process.listenerCount(signal) > 1) {
    for (const { toSend } of [...hooked]) toSend();
    return;
  }
  // A second signal means that nobody wants to wait.
  const toWaitFor = isEnding ? [] : [...hooked];
  isEnding = true;
  void Promise.all(toWaitFor.map(({ toEnd }) => toEnd())).then(() => end(signal));
}

function end(signal: Signal): void {
  stopListening();
  // The first process of a container does not end by a signal that it has no listener for.
  if (process.pid === 1) process.exit(EXIT_CODES[signal]);
  try {
    process.kill(process.pid, signal);
  } catch {
    // Deno may not allow it.
    process.exit(EXIT_CODES[signal]);
  }
}
