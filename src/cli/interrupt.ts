import { onSignals } from "../runtime/process.ts";

/** What is under way is finished after a Ctrl-C; a second one does not wait for it. Answers how to listen no more. */
export function onInterrupt(run: () => void): () => void {
  const interrupt = (): void => {
    unhook();
    run();
  };
  const unhook = onSignals({ stop: interrupt, reload: interrupt });
  return unhook;
}
