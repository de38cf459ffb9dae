import type { Command } from "commander";
import { type App, createApp } from "../app.ts";
import { createReloader } from "../config/reloader.ts";
import { watchConfig } from "../config/watch.ts";
import type { Config } from "../model/config.ts";
import type { Applied, Reload } from "../model/reload.ts";
import { look } from "../runtime/look.ts";
import { createMachine, type Machine } from "../runtime/machine.ts";
import { freeMemory } from "../runtime/memory.ts";
import { onSignals } from "../runtime/signals.ts";
import { print, printError } from "../runtime/terminal.ts";
import { keepFilesPrivate } from "../runtime/umask.ts";
import { VERSION } from "../runtime/version.ts";
import { type Done, examples } from "./command.ts";
import { CONFIG_OPTION, requireConfig } from "./config-file.ts";
import { EXIT, type ExitCode } from "./exit.ts";
import { createReader, type Reader } from "./serve/reader.ts";

/** `fairlead serve`: runs the daemon in the foreground, until SIGTERM or SIGINT. A second one does not wait. */
export function declareServe(program: Command, done: Done): void {
  program
    .command("serve")
    .description("run the daemon in the foreground, until SIGTERM or SIGINT; it reads a config that changes anew")
    .option(...CONFIG_OPTION)
    .addHelpText("after", examples("fairlead serve --config /etc/fairlead/config.yaml"))
    .action((options: ServeOptions) => done(serve(options)));
}

type ServeOptions = { readonly config?: string };

async function serve(options: ServeOptions): Promise<ExitCode> {
  const reader = createReader(options.config);
  const read = requireConfig(options.config, reader.resolve);
  if (!read) return EXIT.config;
  keepFilesPrivate();
  const machine = createMachine(read.config.log);
  const { app, reload } = createReloadableApp({ ...read, reader }, machine);
  const stopped = stopBySignal(app, machine, reload);
  try {
    const { ingest, admin } = await app.start();
    print(`ingest ${ingest}\nadmin  ${admin}`);
    machine.report.daemon("started", { version: VERSION, config: read.file, ingest, admin, pid: machine.pid });
    freeMemory();
  } catch (error) {
    printError(`fairlead: ${error instanceof Error ? error.message : error}\n`);
    return EXIT.failed;
  }
  const watching = new AbortController();
  void watchConfig({ clock: machine.clock, look, seen: reader.seen, reload }, watching.signal);
  return stopped.finally(() => watching.abort());
}

type Started = { readonly file: string; readonly config: Config; readonly reader: Reader };

/** The daemon, and how it comes by another config: whoever asks for it, it is one file that is read. */
function createReloadableApp({ file, config, reader }: Started, machine: Machine): { app: App; reload: Reload } {
  const { reload, status } = createReloader({ ...machine, file, read: () => reader.read(file, machine.clock), apply });
  const app = createApp(config, { ...machine, reload, lastReload: status, version: VERSION });
  return { app, reload };

  async function apply(next: Config): Promise<Applied> {
    const applied = await app.reload(next);
    machine.configureLog(next.log);
    return applied;
  }
}

/** Resolves with the exit code when a signal has stopped the daemon. */
function stopBySignal(app: App, { report }: Machine, reload: Reload): Promise<ExitCode> {
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
      reload: () => void reload().catch((error: unknown) => report.unexpected("reload", error)),
    });
  });
}
