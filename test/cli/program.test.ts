import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Command } from "commander";
import { createProgram } from "../../src/cli/program.ts";
import { beginCommand, SLOW } from "./run.ts";

const program = await createProgram(async () => {});

function helpOf(command: Command): string {
  let text = "";
  const write = (part: string): void => {
    text += part;
  };
  command.configureOutput({ writeOut: write, getOutHelpWidth: () => 200 }).outputHelp();
  return text;
}

describe("fairlead --help", () => {
  it("lists the commands as one gets to know them: run it, try it, then watch it", () => {
    const listed = [...helpOf(program).matchAll(/^ {2}([a-z-]+)(?: .*\S)? {2,}\S/gm)].map(([, name]) => name);
    const trying = [
      "serve",
      "check",
      "schema",
      "send",
      "route",
      "listen",
      "verify",
      "types",
      "status",
      "open",
      "deliveries",
      "explain",
      "rejected",
      "doctor",
    ];
    const changing = ["reload", "pause", "resume", "retry", "replay", "move", "discard"];
    const people = ["delete-user", "deletions"];
    const keeping = ["backup", "restore", "copy-outbox", "migrate"];
    const about = ["help", "version", "man", "completion"];
    assert.deepEqual(listed, [...trying, ...changing, "audience", "traits", ...people, ...keeping, ...about]);
    assert.match(
      helpOf(program),
      /^Run it:$.*^Try it:$.*^Watch it:$.*^Change it:$.*^Feed it:$.*^Delete people:$.*^Keep it:$.*^About it:$/ms,
    );
  });
});

describe("a command that is loaded alone", () => {
  it("is the one that was named, as it is among all the others", async () => {
    for (const command of program.commands) {
      const alone = await createProgram(async () => {}, { only: command.name() });
      assert.deepEqual(
        alone.commands.map((one) => [one.name(), one.helpGroup()]),
        [[command.name(), command.helpGroup()]],
      );
    }
  });

  it("says what is wrong with its arguments, and where its help is", SLOW, async () => {
    const { code, err } = await beginCommand(["deliveries", "show", "--nonsense"]).ended;
    assert.equal(code, 2);
    assert.match(err, /unknown option '--nonsense'\n\(fairlead deliveries show --help shows how it is used\)/);
  });
});

describe("fairlead, asked about itself", () => {
  for (const option of ["--version", "-V"]) {
    it(`says its version at ${option}, as \`fairlead version\` does`, SLOW, async () => {
      const { code, out } = await beginCommand([option]).ended;
      assert.equal(code, 0);
      assert.match(out, /^fairlead \d+\.\d+\.\d+ \(\w+ [\d.]+, \w+-\w+\)\n$/);
      assert.equal(out, (await beginCommand(["version"]).ended).out);
    });
  }

  it("shows at `help` what --help of a command does", SLOW, async () => {
    for (const path of [[], ["send"], ["deliveries", "show"]]) {
      const [help, shown] = [beginCommand(["help", ...path]), beginCommand([...path, "--help"])];
      assert.deepEqual(await help.ended, await shown.ended);
      assert.match((await help.ended).out, new RegExp(`^Usage: ${["fairlead", ...path].join(" ")} `));
    }
  });

  it("says at `help` of no command which was meant", SLOW, async () => {
    const { code, err } = await beginCommand(["help", "deliveries", "shwo"]).ended;
    assert.deepEqual(
      [code, err],
      [2, 'fairlead: there is no command "deliveries shwo"; did you mean deliveries show?\n'],
    );
  });
});

describe("a command that is wrongly used", () => {
  it("points to its own help", SLOW, async () => {
    for (const [args, hint] of [
      [["sned"], "(fairlead --help lists the commands)"],
      [["send", "--nope"], "(fairlead send --help shows how it is used)"],
      [["deliveries", "show"], "(fairlead deliveries show --help shows how it is used)"],
    ] as const) {
      const { code, err } = await beginCommand(args).ended;
      assert.deepEqual([code, err.trimEnd().split("\n").at(-1)], [2, hint]);
    }
  });

  it("says so as one line of JSON on standard error, if a program reads it", SLOW, async () => {
    for (const args of [
      ["pause", "--json"],
      ["send", "--json", "trak"],
      ["send", "--json"],
      ["help", "x", "--json"],
    ]) {
      const { code, out, err } = await beginCommand(args).ended;
      assert.deepEqual([code, out], [2, ""]);
      const { success, code: why, message } = JSON.parse(err);
      assert.deepEqual([success, why, err.trimEnd().includes("\n")], [false, "usage", false], message);
    }
  });
});

describe("a command that cannot be done, with --json", () => {
  it("says why as JSON on standard error, by a stable code, with the exit code of the words", SLOW, async () => {
    const config = ["--config", "/nowhere/config.yaml"];
    for (const [args, code, why] of [
      [["status", "--json", ...config], 78, "config_unreadable"],
      [["backup", "x.db", "--json", ...config], 78, "config_unreadable"],
      [["pause", "crm", "--json", "--admin", "unix:/nowhere/admin.sock"], 1, "unreachable"],
      [["status", "--json", "--admin", "ftp://x"], 2, "usage"],
    ] as const) {
      const ended = await beginCommand(args).ended;
      assert.deepEqual([ended.code, ended.out, JSON.parse(ended.err).code], [code, "", why]);
      const words = await beginCommand(args.filter((arg) => arg !== "--json")).ended;
      assert.deepEqual([words.code, words.err], [code, `fairlead: ${JSON.parse(ended.err).message}\n`]);
    }
  });
});

describe("the help of each command", () => {
  for (const command of program.commands.flatMap((one) => [one, ...one.commands])) {
    const path = command.parent === program ? command.name() : `${command.parent?.name()} ${command.name()}`;
    it(`says what ${path} does, option by option, and gives an example`, () => {
      const help = helpOf(command);
      assert.ok(command.description().length > 0);
      for (const { flags, description } of command.options) assert.ok(description.length > 0, flags);
      assert.match(help, new RegExp(`^Examples?:\\n(.*\\n)*.*fairlead ${path}`, "m"));
    });
  }
});
