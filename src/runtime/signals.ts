import process from "node:process";

export type SignalHandlers = {
  /** SIGTERM or SIGINT: the daemon is to stop. Called for each, so that a second one can be told from the first. */
  readonly stop: (signal: NodeJS.Signals) => void;
  /** SIGHUP: the config is to be read again. */
  readonly reload: () => void;
};

/** Hands the signals of the process to the daemon. Answers a function that takes the handlers away again. */
export function onSignals({ stop, reload }: SignalHandlers): () => void {
  const handlers = [
    ["SIGTERM", () => stop("SIGTERM")],
    ["SIGINT", () => stop("SIGINT")],
    ["SIGHUP", () => reload()],
  ] as const;
  for (const [signal, handler] of handlers) process.on(signal, handler);
  return () => {
    for (const [signal, handler] of handlers) process.off(signal, handler);
  };
}
