import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Command } from "commander";
import { createProgram } from "../../src/cli/program.ts";
import { beginCommand, SLOW } from "./run.ts";

const program = await createProgram(async () => {});

function helpOf(command: Command, width: number): string {
  let text = "";
  const write = (part: string): void => {
    text += part;
  };
  command.configureOutput({ writeOut: write, getOutHelpWidth: () => width }).outputHelp();
  return text;
}

function everyCommand(): readonly Command[] {
  return program.commands.flatMap((one) => [one, ...one.commands]);
}

/** The help on a terminal of 80 columns, line by line. */
function linesOf(command: Command): readonly string[] {
  return helpOf(command, 80).trimEnd().split("\n");
}

const ALL = [
  ...["serve", "check", "schema"],
  ...["send", "route", "listen", "verify", "types"],
  ...["status", "open", "deliveries", "explain", "rejected", "doctor"],
  ...["reload", "pause", "resume", "retry", "replay", "move", "discard"],
  ...["audience", "traits", "delete-user", "deletions"],
  ...["backup", "restore", "copy-outbox", "migrate"],
  ...["help", "version", "man", "completion"],
];

describe("fairlead --help", () => {
  it("lists all commands in groups, each on one line of 80 columns", () => {
    const lines = linesOf(program);
    const listed = lines.flatMap((line) => /^ {2}([a-z-]+) {2,}\S/.exec(line)?.[1] ?? []);
    assert.deepEqual(listed, [...ALL, "connection"]);
    const groups = lines.filter((line) => /^[A-Z][\w ]*:$/.test(line));
    assert.deepEqual(
      groups.slice(1),
      [
        "Set up",
        "Try out",
        "Watch",
        "Operate",
        "Audiences and traits",
        "Deletions",
        "The outbox",
        "About fairlead",
      ].map((group) => `${group}:`),
    );
    for (const line of lines) assert.ok(line.length <= 80, line);
  });

  it("is what `fairlead help all` prints", SLOW, async () => {
    const [help, all] = [beginCommand(["--help"]), beginCommand(["help", "all"])];
    assert.deepEqual(await all.ended, await help.ended);
  });
});

describe("fairlead alone", () => {
  it("shows the eight commands of daily use, and where the others are", SLOW, async () => {
    const { code, out, err } = await beginCommand([]).ended;
    assert.deepEqual([code, out], [2, ""]);
    const lines = err.trimEnd().split("\n");
    assert.deepEqual(
      lines.flatMap((line) => /^ {2}([a-z-]+) {2,}\S/.exec(line)?.[1] ?? []),
      ["serve", "check", "status", "deliveries", "explain", "send", "reload", "doctor"],
    );
    for (const hint of ["fairlead help all", "fairlead help <command>", "fairlead help connection"]) {
      assert.ok(err.includes(hint), hint);
    }
    assert.ok(lines.length <= 24 && lines.every((line) => line.length <= 80), err);
  });
});

describe("fairlead help connection", () => {
  it("explains address, config and token once, on one screen", SLOW, async () => {
    const { code, out } = await beginCommand(["help", "connection"]).ended;
    assert.equal(code, 0);
    for (const word of [
      "--admin",
      "$FAIRLEAD_ADMIN ",
      "admin.listen",
      "--config",
      "$FAIRLEAD_ADMIN_TOKEN",
      "admin.token",
    ])
      assert.ok(out.includes(word), word);
    const lines = out.trimEnd().split("\n");
    assert.ok(lines.length <= 40 && lines.every((line) => line.length <= 80), out);
  });

  it("is where the help of each command with --admin points, which does not repeat it", () => {
    const asking = everyCommand().filter(({ options }) => options.some(({ long }) => long === "--admin"));
    assert.ok(asking.length > 20);
    for (const command of asking) {
      const help = helpOf(command, 80);
      assert.match(help, /^Connection \(see fairlead help connection\):$/m, command.name());
      assert.doesNotMatch(help, /FAIRLEAD_ADMIN/, command.name());
    }
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
  for (const command of everyCommand()) {
    const path = command.parent === program ? command.name() : `${command.parent?.name()} ${command.name()}`;
    it(`fits a screen for ${path}, says what it does, and gives two examples`, () => {
      const lines = linesOf(command);
      assert.ok(lines.length <= 40, `${lines.length} rows`);
      for (const line of lines) assert.ok(line.length <= 80, line);
      assert.match(command.description(), /^[A-Z].*\.$/);
      if (path !== "names") assert.match(command.summary(), /^[a-z].*[^.]$/);
      for (const { flags, description } of command.options) assert.ok(description.length > 0, flags);
      const examples = lines.slice(lines.indexOf("Examples:") + 1);
      assert.ok(examples.filter((line) => line.startsWith("  ") && line.includes("fairlead ")).length >= 2);
      assert.match(examples.join("\n"), new RegExp(`fairlead ${path}`));
    });
  }
});
