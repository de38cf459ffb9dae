import { type App, createApp } from "../app.ts";
import { createMachine, type Machine } from "../runtime/machine.ts";
import { onSignals } from "../runtime/signals.ts";
import { print, printError } from "../runtime/terminal.ts";
import { VERSION } from "../runtime/version.ts";
import { requireConfig } from "./config-file.ts";
import { EXIT, type ExitCode } from "./exit.ts";

export type ServeOptions = { readonly config?: string };

/** `fairlead serve`: runs the daemon in the foreground, until SIGTERM or SIGINT. A second one does not wait. */
export async function serve(options: ServeOptions): Promise<ExitCode> {
  const read = requireConfig(options.config);
  if (!read) return EXIT.config;
  const machine = createMachine(read.config.log);
  const app = createApp(read.config, machine);
  const stopped = stopBySignal(app, machine, options);
  try {
    const { ingest, admin } = await app.start();
    print(`ingest ${ingest}\nadmin  ${admin}`);
    machine.report.daemon("started", { version: VERSION, config: read.file, ingest, admin, pid: machine.pid });
  } catch (error) {
    printError(`fairlead: ${error instanceof Error ? error.message : error}\n`);
    return EXIT.failed;
  }
  return stopped;
}

/** Resolves with the exit code when a signal has stopped the daemon. */
function stopBySignal(app: App, machine: Machine, options: ServeOptions): Promise<ExitCode> {
  const { report } = machine;
  return new Promise((resolve) => {
    let stopping = false;
    onSignals({
      stop(signal) {
        if (stopping) {
          app.release();
          return resolve(EXIT.failed);
        }
        stopping = true;
        report.daemon("stopping", { signal });
        app.stop().then(
          () => {
            report.daemon("stopped", {});
            resolve(EXIT.done);
          },
          (error: unknown) => {
            report.unexpected("stop", error);
            resolve(EXIT.failed);
          },
        );
      },
      reload: () => void reload(app, machine, options).catch((error: unknown) => report.unexpected("reload", error)),
    });
  });
}

/** Reads the config again. A bad one changes nothing. */
async function reload(app: App, { report, metrics, configureLog }: Machine, options: ServeOptions): Promise<void> {
  const read = requireConfig(options.config);
  metrics.reloaded(read !== null);
  if (!read) return report.daemon("reload_failed", { reason: "the config has errors; the one before stays in force" });
  const kept = await app.reload(read.config);
  configureLog(read.config.log);
  report.daemon("reloaded", { config: read.file, ...(kept.length > 0 && { needsRestart: kept.join(",") }) });
}
