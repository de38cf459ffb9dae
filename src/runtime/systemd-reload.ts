import type { Reload, Reloaded } from "../model/reload.ts";
import type { Supervisor } from "../model/supervisor.ts";

/** Tells the supervisor of each reload, whoever asks for it. Where several are under way, the last one says how it went. */
export function tellReloads(reload: Reload, { reloading, ready }: Pick<Supervisor, "reloading" | "ready">): Reload {
  let running = 0;
  return async () => {
    running += 1;
    if (running === 1) reloading();
    let status = "runs";
    try {
      const reloaded = await reload();
      status = toStatus(reloaded);
      return reloaded;
    } finally {
      running -= 1;
      if (running === 0) ready(status);
    }
  };
}

function toStatus(reloaded: Reloaded): string {
  if (reloaded.kind === "refused") return `runs by the config of before: the new one was refused (${reloaded.reason})`;
  if (reloaded.needsRestart.length === 0) return "runs by the newest config";
  return `runs by the newest config, but ${reloaded.needsRestart.join(", ")} only after a restart`;
}
