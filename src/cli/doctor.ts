import type { Command } from "commander";
import { createClock } from "../runtime/clock.ts";
import { print } from "../runtime/output.ts";
import { goLast } from "../runtime/process.ts";
import { VERSION } from "../runtime/version.ts";
import { type Done, examples } from "./command.ts";
import { addDaemonOptions, type DaemonOptions } from "./daemon.ts";
import { examine } from "./doctor/examine.ts";
import { worstOf } from "./doctor/finding.ts";
import { toJson, toWords } from "./doctor/words.ts";
import { EXIT, type ExitCode } from "./exit.ts";
import { printable } from "./printable.ts";

/** `fairlead doctor`: one page that says what is wrong with this installation. */
export function declareDoctor(program: Command, done: Done): void {
  const command = program
    .command("doctor")
    .description("say what is wrong with this installation: config, secrets, outbox, disk, clock, daemon, webhooks")
    .option("--full", "look through all of the outbox, however large, and compare its indexes with its tables")
    .option("--json", "print the findings as JSON");
  addDaemonOptions(command)
    .addHelpText("after", HELP)
    .action((options: DoctorOptions) => done(doctor(options)));
}

const HELP = `${examples("fairlead doctor", "fairlead doctor --json | jq '.findings[] | select(.level == \"error\")'")}

It works whether the daemon runs or not, and changes nothing. To each webhook it
connects, and hangs up before a request. What it cannot see as this user it names
as skipped; root sees all. Exits with 1 if there is an error; warnings do not.`;

type DoctorOptions = DaemonOptions & { readonly full?: boolean; readonly json?: boolean };

async function doctor(options: DoctorOptions): Promise<ExitCode> {
  goLast();
  const findings = await examine({ ...options, depth: options.full ? "full" : "usual" }, createClock());
  print(options.json ? printable(toJson(findings, VERSION)) : toWords(findings));
  return worstOf(findings) === "error" ? EXIT.failed : EXIT.done;
}
