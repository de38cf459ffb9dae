import { Command, CommanderError } from "commander";
import { suggest } from "../config/suggest.ts";
import { hasColors } from "../runtime/colors.ts";
import { outputColumns, print, printError, STDERR, STDOUT } from "../runtime/output.ts";
import { runtimeName, VERSION } from "../runtime/version.ts";
import {
  type Complaint,
  complain,
  complainAsJson,
  type Declare,
  type Done,
  EXIT,
  toJson,
  wrongUsage,
} from "./command.ts";
import { addHelp, startScreen, TOPICS, topicText } from "./help.ts";
import { paint, useColors, useColumns } from "./paint.ts";

/** Loads the file of a command. Only that of the command which runs is loaded: the daemon starts sooner. */
type Load = () => Promise<Declare>;

/** All commands by their names, under the headings of `fairlead --help`. */
const COMMANDS: Readonly<Record<string, Readonly<Record<string, Load>>>> = {
  "Set up:": {
    serve: async () => (await import("./serve.ts")).declareServe,
    check: async () => (await import("./check.ts")).declareCheck,
    schema: async () => (await import("./schema.ts")).declareSchema,
  },
  "Try out:": {
    send: async () => (await import("./send.ts")).declareSend,
    route: async () => (await import("./route.ts")).declareRoute,
    listen: async () => (await import("./listen.ts")).declareListen,
    verify: async () => (await import("./verify.ts")).declareVerify,
    types: async () => (await import("./types.ts")).declareTypes,
  },
  "Watch:": {
    status: async () => (await import("./status.ts")).declareStatus,
    open: async () => (await import("./open.ts")).declareOpen,
    deliveries: async () => (await import("./deliveries.ts")).declareDeliveries,
    explain: async () => (await import("./explain.ts")).declareExplain,
    rejected: async () => (await import("./rejected.ts")).declareRejected,
    doctor: async () => (await import("./doctor.ts")).declareDoctor,
  },
  "Operate:": {
    reload: async () => (await import("./reload.ts")).declareReload,
    pause: async () => (await import("./pause.ts")).declarePause,
    resume: async () => (await import("./pause.ts")).declareResume,
    retry: async () => (await import("./retry.ts")).declareRetry,
    replay: async () => (await import("./replay.ts")).declareReplay,
    move: async () => (await import("./move.ts")).declareMove,
    discard: async () => (await import("./discard.ts")).declareDiscard,
  },
  "Audiences and traits:": {
    audience: async () => (await import("./audience.ts")).declareAudience,
    traits: async () => (await import("./audience.ts")).declareTraits,
  },
  "Deletions:": {
    "delete-user": async () => (await import("./delete-user.ts")).declareDeleteUser,
    deletions: async () => (await import("./deletions.ts")).declareDeletions,
  },
  "The outbox:": {
    backup: async () => (await import("./backup.ts")).declareBackup,
    restore: async () => (await import("./restore.ts")).declareRestore,
    "copy-outbox": async () => (await import("./copy-outbox.ts")).declareCopyOutbox,
    migrate: async () => (await import("./migrate.ts")).declareMigrate,
  },
  "About fairlead:": {
    help: async () => declareHelp,
    version: async () => declareVersion,
    man: async () => (await import("./man.ts")).declareMan,
    completion: async () => (await import("./completion.ts")).declareCompletion,
    names: async () => (await import("./names.ts")).declareNames,
  },
};

/** These need all the others. */
const ABOUT_ALL: readonly string[] = ["help", "man", "completion"];

/** Runs the command that the arguments name. Resolves with the exit code. */
export async function run(argv: readonly string[]): Promise<number> {
  let code: number = EXIT.done;
  const json = argv.includes("--json");
  complainAsJson(json);
  useColors({ out: hasColors(STDOUT), err: hasColors(STDERR) });
  useColumns(outputColumns());
  const done: Done = async (result) => {
    code = await result;
  };
  const [name = ""] = argv;
  const isAlone =
    Object.values(COMMANDS).some((commands) => Object.hasOwn(commands, name)) && !ABOUT_ALL.includes(name);
  const program = await createProgram(done, { json, ...(isAlone && { only: name }) });
  if (argv.length === 0) {
    printError(`${startScreen(program)}\n`);
    return EXIT.usage;
  }
  try {
    await program.parseAsync([...argv], { from: "user" });
    return code;
  } catch (error) {
    // Commander has already printed the error or the requested help.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    throw error;
  }
}

type Program = {
  /** Errors are printed as JSON. */
  readonly json?: boolean;
  /** The one command to load. Left out, all are. */
  readonly only?: string;
};

/** The command line. `done` takes the result of the command that was run. */
export async function createProgram(done: Done, { json = false, only }: Program = {}): Promise<Command> {
  const program = new Command("fairlead")
    .usage("<command> [options]")
    .description("A self-hosted event router: analytics calls in, signed webhooks out.")
    .version(describeVersion(), "-V, --version", "print the version")
    .helpOption("-h, --help", "show this help")
    .exitOverride()
    // Colours are decided in one place.
    .configureOutput({
      getOutHasColors: () => hasColors(STDOUT),
      getErrHasColors: () => hasColors(STDERR),
      outputError: json ? (text, write) => write(`${jsonOf(text)}\n`) : (text, write) => write(inRed(text)),
    })
    // Options after a subcommand belong to it, not to an option of its parent with the same name.
    .enablePositionalOptions()
    .configureHelp({
      showGlobalOptions: false,
      subcommandTerm: (one) => one.name(),
      argumentDescription: (one) => one.description,
      styleTitle: (text) => paint.strong(text),
    })
    .helpCommand(false);
  for (const [heading, commands] of Object.entries(COMMANDS)) {
    program.commandsGroup(heading);
    for (const [name, load] of Object.entries(commands)) {
      if (name === (only ?? name)) (await load())(program, done);
    }
  }
  const topics = TOPICS.map(({ name, summary }) => `  ${name.padEnd(13)}  ${summary}`);
  addHelp(program, { examples: [], notes: ["fairlead help explains each command, and:", ...topics].join("\n\n") });
  if (!json) pointToHelp(program, []);
  return program;
}

function inRed(text: string): string {
  return text.replace(/^error:/, (head) => paint.bad(head, "err"));
}

/** After an error, each command points to its own help. */
function pointToHelp(command: Command, path: readonly string[]): void {
  const shows = path.length === 0 ? "lists the commands" : "shows how it is used";
  command.showHelpAfterError(`(${["fairlead", ...path].join(" ")} --help ${shows})`);
  for (const one of command.commands) pointToHelp(one, [...path, one.name()]);
}

/** An error of Commander: `error: …` with a newline. */
function jsonOf(text: string): string {
  const message = text
    .replace(/^error: /, "")
    .trim()
    .replaceAll("\n", " ");
  return toJson(wrongUsage(message));
}

/** `fairlead help`: what --help of the program or of a command prints, or a topic. */
function declareHelp(program: Command, done: Done): void {
  const command = program
    .command("help")
    .summary("list all commands, or explain one of them or a topic")
    .description("List all commands, or show how one of them is used, or explain a topic.")
    .argument("[command...]", `all, a command, or ${TOPICS.map(({ name }) => name).join(", ")}`);
  addHelp(command, { examples: ["fairlead help all", "fairlead help deliveries show"] });
  command.action((path: readonly string[]) => {
    const [name, ...more] = path;
    const topic = more.length === 0 ? TOPICS.find((one) => one.name === name) : undefined;
    if (topic) {
      print(topicText(topic, program.createHelp()));
      return done(EXIT.done);
    }
    const found = find(program, name === "all" ? more : path);
    if ("message" in found) return done(complain(found));
    found.outputHelp();
    return done(EXIT.done);
  });
}

function find(program: Command, path: readonly string[]): Command | Complaint {
  let command = program;
  for (const [depth, name] of path.entries()) {
    const below = command.commands.find((one) => one.name() === name);
    if (below === undefined) return unknown(path.slice(0, depth + 1), command);
    command = below;
  }
  return command;
}

function unknown(path: readonly string[], { commands, parent }: Command): Complaint {
  const topics = parent === null ? TOPICS.map(({ name }) => name) : [];
  const meant = suggest(path.at(-1) ?? "", [...commands.map((one) => one.name()), ...topics]);
  const before = path.slice(0, -1);
  const hint =
    meant === null
      ? `${["fairlead", ...before].join(" ")} --help lists what there is`
      : `did you mean ${[...before, meant].join(" ")}?`;
  return wrongUsage(`there is no command ${JSON.stringify(path.join(" "))}; ${hint}`);
}

/** `fairlead version`: what this binary is. */
function declareVersion(program: Command, done: Done): void {
  const command = program
    .command("version")
    .summary("print the version")
    .description("Print the version, its runtime and its platform.")
    .option("--json", "print it as JSON");
  addHelp(command, { examples: ["fairlead version", "fairlead version --json"] });
  command.action(({ json }: { readonly json?: boolean }) => {
    const facts = { version: VERSION, runtime: runtimeName(), platform: PLATFORM };
    print(json ? JSON.stringify(facts) : describeVersion());
    return done(EXIT.done);
  });
}

const PLATFORM = `${process.platform}-${process.arch}`;

function describeVersion(): string {
  return `fairlead ${VERSION} (${runtimeName()}, ${PLATFORM})`;
}
