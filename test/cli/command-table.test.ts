import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { describeCommand, listCommands } from "../../src/cli/command-table.ts";
import { bashCompletion, fishCompletion, zshCompletion } from "../../src/cli/completion.ts";
import { manPage } from "../../src/cli/man.ts";
import { createProgram } from "../../src/cli/program.ts";

const program = await createProgram(async () => {});
const table = describeCommand(program);
const commands = listCommands(table);

/** What --help of each command shows, from its text: the table is not asked. */
const shown = commands.map(({ path }) => {
  const command = path.reduce((at, name) => at.commands.find((one) => one.name() === name) ?? at, program);
  const help = command.helpInformation();
  return { path, names: [...help.matchAll(/^ {2}(-[a-zA-Z]), (--[a-z-]+)|^ {2}(--[a-z-]+)/gm)].flatMap(namesIn) };
});

function namesIn([, short, long, only]: RegExpMatchArray): readonly string[] {
  return [short, long, only].filter((name) => name !== undefined);
}

/** The part of a text from one line to the next that looks like it. */
function partOf(text: string, begins: RegExp, ends: RegExp): string {
  const lines = text.split("\n");
  const start = lines.findIndex((line) => begins.test(line));
  assert.notEqual(start, -1, `${begins} is there`);
  const length = lines.slice(start + 1).findIndex((line) => ends.test(line));
  return lines.slice(start, length < 0 ? undefined : start + 1 + length).join("\n");
}

/** As a word of its own: --user is not in --user-agent. */
function has(text: string, word: string): boolean {
  return new RegExp(`(?<![\\w-])${word}(?![\\w-])`).test(text);
}

function missing(partFor: (path: readonly string[]) => string, inText: (name: string) => string): readonly string[] {
  return shown.flatMap(({ path, names }) => {
    const part = partFor(path);
    return names.filter((name) => !has(part, inText(name))).map((name) => [...path, name].join(" "));
  });
}

/** The names of the commands right below each. */
const below = commands.map(({ path, commands }) => ({ path, commands: commands.map((one) => one.path.at(-1) ?? "") }));

const asItIs = (name: string): string => name;
const inFish = (name: string): string => (name.startsWith("--") ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`);

describe("the table of commands", () => {
  it("knows all that --help shows", () => {
    assert.ok(commands.length > 30);
    assert.deepEqual(
      // --help has them by their headings.
      shown.map(({ names }) => names.toSorted()),
      commands.map(({ options }) => options.flatMap(({ names }) => names).toSorted()),
    );
  });

  it("knows which options take a file, which arguments are one of a few words, and its examples", () => {
    const [send] = commands.filter(({ path }) => path.join(" ") === "send");
    const [file] = send?.options.filter(({ names }) => names.includes("--import")) ?? [];
    assert.deepEqual(file?.value, { kind: "file" });
    assert.deepEqual(
      send?.args.map(({ value }) => value),
      [{ kind: "words", words: ["identify", "track", "page", "screen", "group", "alias"] }],
    );
    assert.equal(send?.examples.length, 2);
    assert.ok(send?.moreExamples.includes("fairlead send track"));
  });
});

describe("the man page", () => {
  const page = manPage(table, { version: "1.2.3", date: "2026-11-20" });
  /** Options are the same as on a screen, but for how roff writes a dash. */
  const plain = page.replaceAll("\\-", "-");

  it("says the version and the day", () => {
    assert.match(page, /^\.TH FAIRLEAD 1 "2026-11-20" "fairlead 1\.2\.3" "User Commands"$/m);
  });

  it("has every command with every option that --help shows", () => {
    const partFor = (path: readonly string[]): string =>
      path.length === 0
        ? plain
        : partOf(plain, new RegExp(`^\\.SH FAIRLEAD ${path.join(" ").toUpperCase()}$`), /^\.SH /);
    assert.deepEqual(missing(partFor, asItIs), []);
    for (const { path } of commands.slice(1))
      assert.match(plain, new RegExp(`^\\.B fairlead ${path.join(" ")}\\b`, "m"));
  });

  it("has examples to be copied: with the characters of a shell, and no line that roff takes for its own", () => {
    assert.ok(page.includes(String.raw`\-\-properties \(aq{"plan":"pro"}\(aq`));
    const requests = page.split("\n").filter((line) => /^[.']/.test(line));
    assert.deepEqual(
      requests.filter((line) => !/^\.(TH|SH|SS|TP|PP|B|BR|I|nf|fi)( |$)/.test(line)),
      [],
    );
  });
});

describe("the completions", () => {
  it("ask for the names of destinations and sources where one of them stands", () => {
    const named = commands.flatMap(({ path, options, args }) => [
      ...options.flatMap(({ names, value }) =>
        value?.kind === "names" ? [[...path, ...names, value.of].join(" ")] : [],
      ),
      ...args.flatMap(({ name, value }) => (value.kind === "names" ? [[...path, name, value.of].join(" ")] : [])),
    ]);
    for (const wanted of [
      ...["pause destination destinations", "resume destination destinations", "discard destination destinations"],
      ...["move old destinations", "move new destinations", "deliveries --destination destinations"],
      ...["deliveries --source sources", "rejected --source sources", "send --source sources"],
      ...["replay --destination destinations", "audience sync --source sources", "delete-user --source sources"],
    ]) {
      assert.ok(named.includes(wanted), `${wanted}: ${named.join(", ")}`);
    }
    for (const make of [bashCompletion, zshCompletion, fishCompletion]) assert.match(make(table), / names /);
  });

  it("for bash have every command and option that --help shows", () => {
    const script = bashCompletion(table);
    const partFor = (path: readonly string[]): string =>
      partOf(script, new RegExp(`^ {2}'${path.join(" ")}'\\)$`), /;;/);
    assert.deepEqual(missing(partFor, asItIs), []);
    for (const { path, commands } of below) for (const name of commands) assert.ok(has(partFor(path), name), name);
  });

  it("for zsh have every command and option that --help shows", () => {
    const script = zshCompletion(table);
    const partFor = (path: readonly string[]): string =>
      partOf(script, new RegExp(`^${["_fairlead", ...path].join("_")}\\(\\) {$`), /^}$/);
    assert.deepEqual(missing(partFor, asItIs), []);
    for (const { path, commands } of below) for (const name of commands) assert.ok(has(partFor(path), name), name);
  });

  it("for fish have every command and option that --help shows", () => {
    const script = fishCompletion(table);
    const partFor = (path: readonly string[]): string =>
      script
        .split("\n")
        .filter((line) => line.includes(`__fairlead_at ${String.raw`\'`}${path.join(" ")}${String.raw`\'`}'`))
        .join("\n");
    assert.deepEqual(missing(partFor, inFish), []);
    for (const { path, commands } of below)
      for (const name of commands) assert.ok(has(partFor(path), `-a ${name}`), name);
  });
});
