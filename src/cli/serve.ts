import type { Command } from "commander";
import { type App, createApp } from "../app.ts";
import { createReloader, type Explain, watchConfig } from "../config/reload.ts";
import { inTurns } from "../config/steps.ts";
import type { Config } from "../model/config.ts";
import type { Applied, Reload, Supervisor } from "../model/daemon.ts";
import { type Ms, SECOND } from "../model/units.ts";
import { fileState } from "../runtime/config-files.ts";
import { createMachine, type Machine } from "../runtime/machine.ts";
import { beginFile } from "../runtime/new-file.ts";
import { printError } from "../runtime/output.ts";
import { freeMemory, keepFilesPrivate, onSignals } from "../runtime/process.ts";
import {
  createSupervisor,
  feedWatchdog,
  refusePassedSockets,
  takeSystemdEnvironment,
  tellMigration,
  tellReloads,
} from "../runtime/systemd.ts";
import { VERSION } from "../runtime/version.ts";
import { type Done, EXIT, type ExitCode } from "./command.ts";
import { CONFIG_OPTION, requireConfig } from "./config-file.ts";
import { createReader, type Reader } from "./config-reader.ts";
import { addHelp, type HelpText } from "./help.ts";

/** `fairlead serve`: runs the daemon in the foreground until SIGTERM or SIGINT. A second signal stops it at once. */
export function declareServe(program: Command, done: Done): void {
  const command = program
    .command("serve")
    .summary("run the daemon")
    .description(
      "Run the daemon in the foreground until SIGTERM or SIGINT. It reloads its config when the file changes.",
    )
    .option(...CONFIG_OPTION)
    .option("--no-copy", "upgrade the outbox without copying it first, for a disk without room for a copy");
  addHelp(command, HELP).action((options: ServeOptions) => done(serve(options)));
}

const HELP: HelpText = {
  examples: ["fairlead serve", "fairlead serve --config /etc/fairlead/config.yaml"],
  notes: `A second signal stops it at once. To run it as a service: systemctl start fairlead.`,
  more: `Exit code 78 means that a restart would not help: the config has errors, or the outbox was written by a newer version. systemd then leaves the service stopped.`,
};

/** The time after the start in which clients that have waited for the daemon make their calls. */
const FIRST_CALLS: Ms = SECOND;

type ServeOptions = { readonly config?: string; readonly copy: boolean };

async function serve(options: ServeOptions): Promise<ExitCode> {
  const environment = takeSystemdEnvironment();
  const refusal = refusePassedSockets(environment);
  if (refusal !== null) return refuse(refusal, EXIT.config);
  const reader = createReader(options.config);
  const read = requireConfig(options.config, reader.resolve);
  if (!read) return EXIT.config;
  keepFilesPrivate();
  const machine = createMachine(read.config.log);
  const { clock, report, pid } = machine;
  const supervisor = createSupervisor({ environment, failed: (reason) => report.daemon("notify_failed", { reason }) });
  const { app, reload } = createReloadableApp({ ...read, reader, supervisor, copy: options.copy }, machine);
  const stopped = stopBySignal({ app, reload, supervisor }, machine);
  try {
    const { ingest, admin } = await app.start();
    const dashboard = read.config.admin.dashboard && { dashboard: dashboardAt(admin) };
    machine.print(`ingest ${ingest}\nadmin  ${admin}${dashboard ? `\ndashboard ${dashboard.dashboard}` : ""}`);
    report.daemon("started", { version: VERSION, config: read.file, ingest, admin, ...dashboard, pid });
    supervisor.ready(`takes calls at ${ingest}, and operators at ${admin}`);
  } catch (error) {
    await machine.flush();
    return cannotStart(error);
  }
  const watching = new AbortController();
  // Not at once: the first calls would wait for it.
  void clock.sleep(FIRST_CALLS, watching.signal).then(() => watching.signal.aborted || freeMemory());
  void watchConfig({ clock, look: fileState, seen: reader.seen, reload }, watching.signal);
  feedWatchdog({ clock, supervisor, vitals: app.vitals, report }, watching.signal).catch((error: unknown) =>
    report.unexpected("feed the watchdog", error),
  );
  return stopped.finally(() => {
    watching.abort();
    return machine.flush();
  });
}

/** For the browser of this machine. At a Unix socket, `fairlead open` says how to reach it. */
function dashboardAt(admin: string): string {
  if (admin.startsWith("unix:")) return admin;
  return `${admin.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")}/`;
}

function refuse(message: string, code: ExitCode): ExitCode {
  printError(`fairlead: ${message}\n`);
  return code;
}

/** Exit code 78 keeps systemd from restarting, which would not help against an outbox of a newer version, say. */
function cannotStart(error: unknown): ExitCode {
  const message = error instanceof Error ? error.message : String(error);
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const said = CODES_OF_OUTBOX.has(code) ? `${code}: ${message}` : message;
  return refuse(said, LASTING.has(code) ? EXIT.config : EXIT.failed);
}

/** What a restart does not change. */
const LASTING: ReadonlySet<string> = new Set([
  "schema_newer",
  "schema_unsupported",
  "schema_missing",
  "schema_older",
  "grants_missing",
  "copy_unfinished",
  "server_too_old",
]);

const CODES_OF_OUTBOX: ReadonlySet<string> = new Set([
  ...LASTING,
  "no_room_for_copy",
  "server_is_standby",
  "daemons_older",
]);

type Started = {
  readonly file: string;
  readonly config: Config;
  readonly explain: Explain;
  readonly reader: Reader;
  readonly supervisor: Supervisor;
  readonly copy: boolean;
};

type Reloadable = { readonly app: App; readonly reload: Reload };

/** The daemon and its reload. Every reload reads the same file. */
function createReloadableApp(started: Started, machine: Machine): Reloadable {
  const { file, config, reader, supervisor, copy } = started;
  let { explain } = started;
  const reloader = createReloader({ ...machine, file, read: () => reader.read(file, machine.clock), apply });
  const reload = tellReloads(reloader.reload, supervisor);
  const app = createApp(config, {
    ...machine,
    migrating: tellMigration(supervisor, machine.report),
    beginFile: copy ? beginFile : undefined,
    freeMemory,
    reload,
    lastReload: reloader.status,
    configText: () => inTurns(explain(), machine.clock.nextTurn),
    version: VERSION,
  });
  return { app, reload };

  async function apply(next: Config, explainNext: Explain): Promise<Applied> {
    const applied = await app.reload(next);
    explain = explainNext;
    machine.configureLog(next.log);
    return applied;
  }
}

type Signalled = Reloadable & { readonly supervisor: Supervisor };

/** Resolves with the exit code once a signal has stopped the daemon. */
function stopBySignal({ app, reload, supervisor }: Signalled, { report }: Machine): Promise<ExitCode> {
  return new Promise((resolve) => {
    let stopping = false;
    onSignals({
      stop(signal) {
        if (stopping) {
          app.release();
          report.summarize();
          return resolve(EXIT.failed);
        }
        stopping = true;
        supervisor.stopping();
        report.daemon("stopping", { signal });
        app.stop().then(
          () => {
            report.summarize();
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
