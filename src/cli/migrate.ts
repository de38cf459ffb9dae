import type { Command } from "commander";
import { printable } from "../client/show.ts";
import type { Config } from "../model/config.ts";
import { print } from "../runtime/output.ts";
import { complain, type Done, EXIT, type ExitCode, examples, wrongUsage } from "./command.ts";
import { CONFIG_OPTION, readOutbox } from "./config-file.ts";
import type { Prepared } from "./outbox-database.ts";

/** `fairlead migrate`: makes the tables of an outbox on PostgreSQL, or brings them up to date. */
export function declareMigrate(program: Command, done: Done): void {
  program
    .command("migrate")
    .description("make the tables of an outbox on PostgreSQL, or bring them up to date, before the daemon starts")
    .option(...CONFIG_OPTION)
    .option("--as <role>", "connect as this role, and grant the role of outbox.url what the daemon needs")
    .option("--json", "print what was done as JSON")
    .addHelpText("after", HELP)
    .action((options: MigrateOptions) => done(migrate(options)));
}

const HELP = `${examples("fairlead migrate", "PGPASSWORD=… fairlead migrate --as fairlead_owner --config /etc/fairlead/config.yaml")}

A daemon does the same when it starts, if its role may. With --as, the role of the
daemon needs no right to change tables: it gets SELECT, INSERT, UPDATE and DELETE
on them, and from PostgreSQL 17 on MAINTAIN. The password comes from PGPASSWORD
or PGPASSFILE. Daemons of the version before keep running.
An outbox that is a file is brought up to date by the start of the daemon.`;

type MigrateOptions = { readonly config?: string; readonly as?: string; readonly json?: boolean };

async function migrate({ config, as, json }: MigrateOptions): Promise<ExitCode> {
  const outbox = readOutbox(config);
  if ("code" in outbox) return complain(outbox);
  const { path, postgres } = outbox;
  if (postgres === null) {
    print(
      json ? toJson(outbox, null) : `${printable(path)} is a file: the daemon brings it up to date when it starts.`,
    );
    return EXIT.done;
  }
  if (as !== undefined && postgres.user === null) return complain(wrongUsage(NO_ROLE));
  const { prepareTables } = await import("./outbox-database.ts");
  const prepared = await prepareTables(postgres, as ?? null);
  if ("code" in prepared) return complain({ ...prepared, message: printable(prepared.message) });
  print(json ? toJson(outbox, prepared) : toWords(outbox, prepared));
  return EXIT.done;
}

const NO_ROLE =
  "cannot tell whom to grant: outbox.url names no user, so the daemon's is the one of its environment; name it in the URL, or run this without --as as that role";

function toJson({ path }: Config["outbox"], prepared: Prepared | null): string {
  const { from = null, to = null, granted = null } = prepared ?? {};
  return printable(JSON.stringify({ success: true, outbox: path, from, to, granted }));
}

function toWords({ path }: Config["outbox"], { from, to, granted }: Prepared): string {
  const done =
    from === to
      ? `The tables are of version ${to} already`
      : from === 0
        ? `Made the tables, version ${to}`
        : `Brought the tables from version ${from} to ${to}`;
  const lines = [`${done}: ${path}`, ...(granted === null ? [] : [`The role ${granted} may use them.`])];
  return lines.map(printable).join("\n");
}
