import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { copyFile, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { ROOT } from "../binary/binary.ts";
import { type Process, start } from "../binary/process.ts";
import { KEY } from "../binary/world.ts";

/** A client library in another language, as its registry has it. */
export type Foreign = {
  readonly name: string;
  /** What there is nothing to test with without it; false if it is there. */
  readonly missing: string | false;
  /** Whether it lets its user say when a call was made. */
  readonly keepsTime: boolean;
  /** Gets the library, which may take a while the first time, and starts a program that makes calls to the host and ends. */
  run(host: string, act?: Act): Promise<Process>;
};

/** What the program does: a call of long ago with a long number, a hundred large calls, a number that is none. */
export type Act = "exact" | "large" | "nan";

const PROGRAMS = join(ROOT, "test/long/clients");
/** What is installed stays there for the next time, as all that is made. */
const INSTALLED = join(ROOT, "dist/test/clients");

export const SEGMENT_PYTHON = python("segment-analytics-python", { version: "2.4.0", module: "segment.analytics" });
export const RUDDER_PYTHON = python("rudder-sdk-python", { version: "2.1.9", module: "rudderstack.analytics" });
export const GO = [
  go("go-2", "github.com/segmentio/analytics-go v2.0.0+incompatible"),
  go("go-3", "gopkg.in/segmentio/analytics-go.v3 v3.1.0"),
  go("go-rudder", "github.com/rudderlabs/analytics-go v3.3.3+incompatible"),
];

type Package = { readonly version: string; readonly module: string };

function python(name: string, { version, module }: Package): Foreign {
  const folder = join(INSTALLED, `${name}-${version}`);
  const own = join(folder, "bin/python");
  function install(): void {
    if (existsSync(join(folder, "complete"))) return;
    must("python3", ["-m", "venv", folder]);
    must(own, ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", `${name}==${version}`]);
    mkdirSync(join(folder, "complete"));
  }
  return {
    name: `${name} ${version}`,
    keepsTime: true,
    missing: without("python3", ["-c", "import venv, ensurepip"], "python3-venv"),
    async run(host, act = "exact") {
      install();
      // Of the environment nothing else gets in: a proxy that the machine has set would come between.
      return start(own, [join(PROGRAMS, "calls.py"), module, host, KEY, act], { env: { PATH: process.env.PATH } });
    },
  };
}

function go(program: string, required: string): Foreign {
  const folder = join(INSTALLED, program);
  async function build(): Promise<void> {
    await mkdir(folder, { recursive: true });
    await copyFile(join(PROGRAMS, program, "main.go"), join(folder, "main.go"));
    await writeFile(join(folder, "go.mod"), `module calls\n\ngo 1.21\n\nrequire ${required}\n`);
    must("go", ["mod", "tidy"], folder);
    must("go", ["build", "-o", "calls", "."], folder);
  }
  return {
    name: required,
    // Version 2.0 puts its own time in the place of the caller's.
    keepsTime: program !== "go-2",
    missing: without("go", ["version"], "golang"),
    async run(host) {
      await build();
      return start(join(folder, "calls"), [host, KEY], { env: { PATH: process.env.PATH } });
    },
  };
}

function without(command: string, args: readonly string[], apt: string): string | false {
  const there = spawnSync(command, args).status === 0;
  return there ? false : `there is no ${command} that can be used on this machine (apt install ${apt})`;
}

function must(command: string, args: readonly string[], cwd?: string): void {
  const { status, stderr } = spawnSync(command, args, { encoding: "utf8", ...(cwd && { cwd }) });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} has failed: ${stderr}`);
}
