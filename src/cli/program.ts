import { Command, CommanderError, InvalidArgumentError } from "commander";
import { parseDuration } from "../model/units.ts";
import { check } from "./check.ts";
import { CONFIG_OPTION } from "./config-file.ts";
import { EXIT } from "./exit.ts";
import { listen } from "./listen.ts";
import { serve } from "./serve.ts";
import { version } from "./version.ts";

/** Runs the command that the arguments name. Resolves with the exit code. */
export async function run(argv: readonly string[]): Promise<number> {
  let code: number = EXIT.done;
  const program = createProgram((result) => {
    code = result;
  });
  try {
    await program.parseAsync([...argv], { from: "user" });
    return code;
  } catch (error) {
    // Commander has told what was wrong; help that was asked for comes this way too.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    throw error;
  }
}

function createProgram(done: (code: number) => void): Command {
  const program = new Command("fairlead")
    .description("Takes analytics calls, makes them durable, and forwards each as a signed webhook.")
    .exitOverride()
    .configureHelp({ showGlobalOptions: false })
    .showHelpAfterError("(fairlead --help lists the commands)")
    .helpCommand(false);
  program
    .command("serve")
    .description("run the daemon in the foreground, until SIGTERM or SIGINT; SIGHUP reloads the config")
    .option(...CONFIG_OPTION)
    .addHelpText("after", "\nExample:\n  fairlead serve --config /etc/fairlead/config.yaml")
    .action(async (options) => done(await serve(options)));
  program
    .command("check")
    .description("say whether the config can be used, and all that is wrong with it")
    .option(...CONFIG_OPTION)
    .option("--json", "print the problems as JSON")
    .addHelpText("after", "\nExample:\n  fairlead check --config config.yaml && systemctl reload fairlead")
    .action((options) => done(check(options)));
  addListen(program, done);
  program
    .command("version")
    .description("print the version")
    .option("--json", "print it as JSON")
    .addHelpText("after", "\nExample:\n  fairlead version --json")
    .action((options) => done(version(options)));
  return program;
}

function addListen(program: Command, done: (code: number) => void): void {
  program
    .command("listen")
    .description("receive webhooks, check their signatures and print them; can fail on purpose")
    .option("--listen <address>", "where to listen, as host:port", "127.0.0.1:9000")
    .option("--secret-file <file>", "the shared secret, to check signatures with (else $FAIRLEAD_SECRET)")
    .option("--status <code>", "answer with this status", toStatus)
    .option("--delay <duration>", "answer only after this time, as 6s", toDuration)
    .option("--fail-first <count>", "fail so many requests (with --status, else 503), then answer 200", toCount)
    .option("--json", "print one JSON object a line")
    .addHelpText(
      "after",
      "\nExamples:\n  FAIRLEAD_SECRET=change-me fairlead listen\n" +
        "  fairlead listen --status 503            # be down: Fairlead tries again for four hours\n" +
        "  fairlead listen --fail-first 3          # come back after three refusals\n" +
        "  fairlead listen --delay 6s              # be too slow: an answer counts for five seconds",
    )
    .action(async (options) => done(await listen(options)));
}

function toStatus(text: string): number {
  const status = Number(text);
  if (Number.isInteger(status) && status >= 200 && status <= 599) return status;
  throw new InvalidArgumentError("It must be a status from 200 to 599.");
}

function toCount(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It must be a whole number.");
}

function toDuration(text: string): number {
  const duration = parseDuration(text);
  if (duration !== null) return duration;
  throw new InvalidArgumentError("It must be a duration like 6s or 250ms.");
}
