import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import { findBinary } from "../binary/binary.ts";
import { PATIENT } from "../binary/waiting.ts";

/** Where there is a file to complete, with a space in its name. */
type Desk = AsyncDisposable & {
  /** Runs a program there, and answers what it has printed, line by line. Throws if it has complained. */
  run(program: string, ...args: readonly string[]): readonly string[];
};

const FILE = "my list.csv";
const CONFIG = JSON.stringify({ sources: { website: {} }, destinations: { crm: {}, "crm-old": {}, mail: {} } });

async function makeDesk(): Promise<Desk> {
  const folder = await mkdtemp(join(tmpdir(), "fairlead-shells-"));
  await writeFile(join(folder, FILE), "");
  // Nothing of it but the names is right, and no daemon runs.
  await writeFile(join(folder, "config.yaml"), CONFIG);
  const env = { PATH: process.env.PATH, HOME: folder, TMPDIR: folder, LANG: "C.UTF-8", TERM: "xterm" };
  return {
    run(program, ...args) {
      const { status, stdout, stderr } = spawnSync(program, args, { cwd: folder, env, encoding: "utf8" });
      assert.deepEqual([status, stderr], [0, ""], program);
      return stdout.trimEnd().split("\n");
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}

/** For a test that needs a program: skipped, with the reason, where that is not. */
function needing(program: string): object {
  const missing = spawnSync(program, ["--version"]).error !== undefined;
  return { ...PATIENT, skip: missing && `there is no ${program} on this machine (apt install ${program})` };
}

/** The words before the last one are there; the last one is completed. */
const QUESTIONS: readonly (readonly [words: readonly string[], answers: readonly string[]])[] = [
  [["del"], ["delete-user", "deletions", "deliveries"]],
  [["deliveries", "sh"], ["show"]],
  [["deliveries", "--st"], ["--state"]],
  [["deliveries", "show", "--js"], ["--json"]],
  [["serve", "--config", "my"], [FILE]],
  [["send", "--user", "send", "tr"], ["track"]],
  [["audience", "sync", "big", "my"], [FILE]],
  [["pause", "ma"], ["mail"]],
  [
    ["move", "crm", "c"],
    ["crm", "crm-old"],
  ],
  [["deliveries", "--destination", "m"], ["mail"]],
  [["send", "track", "--source", "w"], ["website"]],
  [["help", "sen"], ["send"]],
  [
    ["completion", ""],
    ["bash", "fish", "zsh"],
  ],
];

describe("the completion script", () => {
  it("completes commands, options, files and words in bash", needing("bash"), async () => {
    await using desk = await makeDesk();
    for (const [words, answers] of QUESTIONS) {
      assert.deepEqual(desk.run("bash", "-c", IN_BASH, findBinary(), ...words).toSorted(), answers, words.join(" "));
    }
    // bash itself takes --config=my for three words.
    const split = ["serve", "--config", "=", "my"];
    assert.deepEqual(desk.run("bash", "-c", IN_BASH, findBinary(), ...split), [FILE]);
    assert.deepEqual(desk.run("bash", "-c", IN_BASH, findBinary(), "send", "--user", ""), [""]);
  });

  it("completes them in fish", needing("fish"), async () => {
    await using desk = await makeDesk();
    for (const [words, answers] of QUESTIONS) {
      const said = desk.run("fish", "--no-config", "-c", IN_FISH, findBinary(), ["fairlead", ...words].join(" "));
      assert.deepEqual(said.map((line) => line.split("\t")[0]).toSorted(), answers, words.join(" "));
    }
  });

  it("completes them in zsh, as who presses Tab sees it", needing("zsh"), async () => {
    await using desk = await makeDesk();
    const typed = QUESTIONS.filter(([, answers]) => answers.length === 1);
    const lines = typed.map(([words]) => words.join(" "));
    const said = desk.run("zsh", "-f", "-c", IN_ZSH, findBinary(), ...lines);
    const wanted = typed.map(([words, answers]) => [...words.slice(0, -1), ...answers].join("|"));
    // An option with a value ends with the sign for it.
    assert.deepEqual(
      said.map((line) => line.replace(/=$/, "")),
      wanted,
    );
  });
});

describe("the man page", () => {
  it("is roff without a fault, for groff", needing("groff"), async () => {
    await using desk = await makeDesk();
    const page = desk.run("bash", "-c", '"$0" man > page && groff -ww -man -Tutf8 page', findBinary());
    assert.ok(page.length > 500);
  });
});

/** $0: the binary; then the words. */
const IN_BASH = `
fairlead() { "$bin" "$@"; }
bin=$0
source <("$0" completion bash)
COMP_WORDS=(fairlead "$@") COMP_CWORD=$#
_fairlead 2>/dev/null
printf '%s\\n' "\${COMPREPLY[@]}"
`;

const IN_FISH = `
set -g bin $argv[1]
function fairlead; $bin $argv; end
$argv[1] completion fish | source
complete -C $argv[2]
`;

/**
 * In a terminal of its own, where Tab is pressed behind each line. What is called fairlead there prints its arguments. What
 * is typed comes back as an echo; it does not look like the answer.
 */
const IN_ZSH = `
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1= PS2= RPS1= COLUMNS=400; autoload -Uz compinit; compinit -u -D; source <($0 completion zsh)"
zpty -w shell "bin=$0"
zpty -w shell 'fairlead() { [[ $1 == names ]] && { $bin "$@"; return }; print -r -- "R""AN:\${(j:|:)@}:E""ND" }'
for line; do
  zpty -w -n shell "fairlead $line"$'\\t\\n'
  zpty -r shell answer '*RAN:*:END*'
  print -r -- "\${\${answer##*RAN:}%%:END*}"
done
`;
