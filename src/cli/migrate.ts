import type { Command } from "commander";
import { printable } from "../client/show.ts";
import type { Config } from "../model/config.ts";
import { print } from "../runtime/output.ts";
import { complain, type Done, EXIT, type ExitCode, wrongUsage } from "./command.ts";
import { CONFIG_OPTION, readOutbox } from "./config-file.ts";
import { addHelp, type HelpText } from "./help.ts";
import type { Prepared } from "./outbox-database.ts";
import { showWhile } from "./progress.ts";

/** `fairlead migrate`: makes the tables of an outbox on PostgreSQL, or brings them up to date. */
export function declareMigrate(program: Command, done: Done): void {
  const command = program
    .command("migrate")
    .summary("create or upgrade the tables on PostgreSQL")
    .description("Create or upgrade the tables of an outbox on PostgreSQL, before the daemon starts.")
    .option(...CONFIG_OPTION)
    .option("--as <role>", "connect as this role, and grant the role of outbox.url what the daemon needs")
    .option("--json", "print what was done as JSON");
  addHelp(command, HELP).action((options: MigrateOptions) => done(migrate(options)));
}

const HELP: HelpText = {
  examples: ["fairlead migrate", "PGPASSWORD=… fairlead migrate --as fairlead_owner"],
  notes: `A daemon does the same when it starts, if its role may. With --as, the role of the daemon needs no right to change tables. The password comes from PGPASSWORD or PGPASSFILE. Daemons of the previous version keep running.`,
  more: `With --as, the role of the daemon is granted SELECT, INSERT, UPDATE and DELETE on the tables, and from PostgreSQL 17 on MAINTAIN. An outbox that is a file is upgraded when the daemon starts.`,
};

type MigrateOptions = { readonly config?: string; readonly as?: string; readonly json?: boolean };

async function migrate({ config, as, json }: MigrateOptions): Promise<ExitCode> {
  const outbox = readOutbox(config);
  if ("code" in outbox) return complain(outbox);
  const { path, postgres } = outbox;
  if (postgres === null) {
    print(json ? toJson(outbox, null) : `${printable(path)} is a file: the daemon upgrades it when it starts.`);
    return EXIT.done;
  }
  if (as !== undefined && postgres.user === null) return complain(wrongUsage(NO_ROLE));
  const { prepareTables } = await import("./outbox-database.ts");
  const prepared = await showWhile("migrating", prepareTables(postgres, as ?? null));
  if ("code" in prepared) return complain({ ...prepared, message: printable(prepared.message) });
  print(json ? toJson(outbox, prepared) : toWords(outbox, prepared));
  return EXIT.done;
}

const NO_ROLE =
  "--as needs to know the daemon's role, and outbox.url names no user; name it in the URL, or run this as that role and without --as";

function toJson({ path }: Config["outbox"], prepared: Prepared | null): string {
  const { from = null, to = null, granted = null } = prepared ?? {};
  return printable(JSON.stringify({ success: true, outbox: path, from, to, granted }));
}

function toWords({ path }: Config["outbox"], { from, to, granted }: Prepared): string {
  const done =
    from === to
      ? `The tables have version ${to} already`
      : from === 0
        ? `Created the tables, version ${to}`
        : `Upgraded the tables from version ${from} to ${to}`;
  const lines = [`${done}: ${path}`, ...(granted === null ? [] : [`The role ${granted} may use them.`])];
  return lines.map(printable).join("\n");
}
