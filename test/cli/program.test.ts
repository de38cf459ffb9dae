import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Command } from "commander";
import { createProgram } from "../../src/cli/program.ts";

const program = createProgram(async () => {});

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
      "listen",
      "verify",
      "status",
      "deliveries",
      "explain",
      "rejected",
      "doctor",
    ];
    const changing = ["reload", "pause", "resume", "retry", "replay", "move", "discard"];
    const people = ["delete-user", "deletions"];
    const keeping = ["backup", "restore"];
    const about = ["version", "man", "completion"];
    assert.deepEqual(listed, [...trying, ...changing, "audience", "traits", ...people, ...keeping, ...about]);
    assert.match(
      helpOf(program),
      /^Run it:$.*^Try it:$.*^Watch it:$.*^Change it:$.*^Feed it:$.*^Delete people:$.*^Keep it:$.*^About it:$/ms,
    );
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
