import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { VERSION } from "../../packaging/documents.ts";
import { ROOT } from "../binary/binary.ts";

export type Installed = { readonly status: number | null; readonly out: string; readonly err: string };

/** A folder with a release whose program is a small script, and a prefix to install it into. */
export type InstallWorld = Disposable & {
  readonly release: string;
  readonly prefix: string;
  /** Runs install.sh, in a shell such as `busybox sh`, without a terminal. */
  run(
    args: readonly string[],
    options?: { readonly shell?: string; readonly env?: Readonly<Record<string, string>> },
  ): Installed;
  /** Writes a release of a program that ends with this code. */
  publish(code?: number): void;
};

const FILES = [
  ...["fairlead.1", "LICENSE", "THIRD-PARTY-NOTICES.txt", "config.example.yaml", "fairlead.sysusers.conf"],
  ...["completions/fairlead.bash", "completions/_fairlead", "completions/fairlead.fish"],
];

export function makeInstallWorld(): InstallWorld {
  const folder = mkdtempSync(join(tmpdir(), "fairlead-install-"));
  const [release, prefix] = [join(folder, "release"), join(folder, "prefix")];
  const world: InstallWorld = {
    ...{ release, prefix },
    run(args, { shell = "sh", env = {} } = {}) {
      const [program = "", ...before] = shell.split(" ");
      const all = { ...process.env, FAIRLEAD_BASE_URL: `file://${release}`, ...env };
      const options = { cwd: folder, encoding: "utf8", env: all, detached: true } as const;
      const script = [...before, join(ROOT, "install.sh"), "--prefix", prefix, ...args];
      // In a session of its own it has no terminal to ask on.
      const { status, stdout, stderr, error } = spawnSync("setsid", ["--wait", program, ...script], options);
      if (error) throw error;
      return { status, out: stdout, err: stderr };
    },
    publish(code = 0) {
      rmSync(release, { recursive: true, force: true });
      mkdirSync(release);
      const sums = targets().map((target) => {
        const name = `fairlead-${VERSION}-${target}`;
        pack(release, name, code);
        const file = `${name}.tar.gz`;
        const sum = createHash("sha256")
          .update(readFileSync(join(release, file)))
          .digest("hex");
        return `${sum}  ${file}\n`;
      });
      writeFileSync(join(release, "SHA256SUMS"), sums.join(""));
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
  world.publish();
  return world;
}

/** Those that this machine may turn out to be. */
function targets(): readonly string[] {
  return [`linux-${process.arch}`, `linux-${process.arch}-musl`, `darwin-${process.arch}`];
}

function pack(release: string, name: string, code: number): void {
  const folder = join(release, name);
  mkdirSync(join(folder, "completions"), { recursive: true });
  const program = `#!/bin/sh\necho 'fairlead ${VERSION} of the test'\nexit ${code}\n`;
  writeFileSync(join(folder, "fairlead"), program, { mode: 0o755 });
  writeFileSync(join(folder, "fairlead.service"), "ExecStart=/usr/bin/fairlead serve\n");
  for (const file of FILES) writeFileSync(join(folder, file), `${file}\n`);
  spawnSync("tar", ["-czf", `${folder}.tar.gz`, "-C", release, name]);
  rmSync(folder, { recursive: true });
}
