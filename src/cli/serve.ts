import type { Command } from "commander";
import { type App, createApp } from "../app.ts";
import { createMachine, type Machine } from "../runtime/machine.ts";
import { freeMemory } from "../runtime/memory.ts";
import { onSignals } from "../runtime/signals.ts";
import { print, printError } from "../runtime/terminal.ts";
import { keepFilesPrivate } from "../runtime/umask.ts";
import { VERSION } from "../runtime/version.ts";
import { type Done, examples } from "./command.ts";
import { CONFIG_OPTION, readConfig, requireConfig } from "./config-file.ts";
import { EXIT, type ExitCode } from "./exit.ts";

/** `fairlead serve`: runs the daemon in the foreground, until SIGTERM or SIGINT. A second one does not wait. */
export function declareServe(program: Command, done: Done): void {
  program
    .command("serve")
    .description("run the daemon in the foreground, until SIGTERM or SIGINT; SIGHUP reloads the config")
    .option(...CONFIG_OPTION)
    .addHelpText("after", examples("fairlead serve --config /etc/fairlead/config.yaml"))
    .action((options: ServeOptions) => done(serve(options)));
}

type ServeOptions = { readonly config?: string };

async function serve(options: ServeOptions): Promise<ExitCode> {
  const read = requireConfig(options.config);
  if (!read) return EXIT.config;
  keepFilesPrivate();
  const machine = createMachine(read.config.log);
  const app = createApp(read.config, machine);
  const stopped = stopBySignal(app, machine, read.file);
  try {
    const { ingest, admin } = await app.start();
    print(`ingest ${ingest}\nadmin  ${admin}`);
    machine.report.daemon("started", { version: VERSION, config: read.file, ingest, admin, pid: machine.pid });
    freeMemory();
  } catch (error) {
    printError(`fairlead: ${error instanceof Error ? error.message : error}\n`);
    return EXIT.failed;
  }
  return stopped;
}

/** Resolves with the exit code when a signal has stopped the daemon. */
function stopBySignal(app: App, machine: Machine, file: string): Promise<ExitCode> {
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
      reload: () => void reload(app, machine, file).catch((error: unknown) => report.unexpected("reload", error)),
    });
  });
}

/** Reads the same file again. A bad one changes nothing, and each of its problems is a line of the log. */
async function reload(app: App, { report, configureLog }: Machine, file: string): Promise<void> {
  const read = readConfig(file);
  const problems = read.kind === "read" ? read.loaded.problems : [];
  for (const { severity, line, column, path, message } of problems) {
    const what = severity === "error" ? "config_problem" : "config_warning";
    report.daemon(what, { config: file, line, column, key: path, reason: message });
  }
  const config = read.kind === "read" ? read.loaded.config : null;
  if (config === null) {
    const why = read.kind === "unreadable" ? read.message : "the config has errors";
    return report.daemon("reload_failed", { config: file, reason: `${why}; the one before stays in force` });
  }
  const kept = await app.reload(config);
  configureLog(config.log);
  report.daemon("reloaded", { config: file, ...(kept.length > 0 && { needsRestart: kept.join(",") }) });
}
