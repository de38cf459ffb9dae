import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { after, describe, it } from "node:test";
import { VERSION } from "../../packaging/documents.ts";
import { ROOT } from "../binary/binary.ts";
import { makeInstallWorld } from "../packaging/install-world.ts";

const LENGTHY = { timeout: 900_000 };
const TARGET = `linux-${process.arch}`;

function run(program: string, args: readonly string[], { cwd = ROOT, input = "" } = {}): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd,
    input,
    encoding: "utf8",
    maxBuffer: 1 << 26,
  });
  assert.equal(status, 0, `${program} ${args.join(" ")}: ${error?.message ?? ""}\n${stdout}${stderr}`);
  return stdout;
}

/** Why a test is skipped, unless each of these programs is there: with its package of Debian, if that has another name. */
function without(...programs: readonly (readonly [program: string, brought?: string])[]): { skip: string | false } {
  const [program, brought] = programs.find(([one]) => spawnSync("which", [one]).status !== 0) ?? [];
  return {
    skip: program !== undefined && `there is no ${program} on this machine (apt install ${brought ?? program})`,
  };
}

const folder = mkdtempSync(join(tmpdir(), "fairlead-release-"));
after(() => rmSync(folder, { recursive: true, force: true }));

let made: string | undefined;

/** The folder with a release for this machine alone, made once. */
function makeOnce(): string {
  made ??= make(ROOT, join(folder, "release"));
  return made;
}

function make(cwd: string, release: string): string {
  run(
    "make",
    ["release", `VERSION=${VERSION}`, `TARGETS=${TARGET}`, `RELEASE=${release}`, "SOURCE_DATE_EPOCH=1795449600"],
    { cwd },
  );
  return release;
}

const NEEDED = without(["rpmbuild", "rpm"], ["dpkg-deb", "dpkg"], ["apt-get", "apt"]);

describe("make release", () => {
  it("makes the same bytes in another folder", { ...LENGTHY, ...NEEDED }, () => {
    const elsewhere = join(folder, "another/place");
    mkdirSync(elsewhere, { recursive: true });
    const names = readdirSync(ROOT).filter((name) => !["dist", ".git", ".run", ".tools"].includes(name));
    run("cp", ["-a", ...names.map((name) => join(ROOT, name)), elsewhere]);
    // What was downloaded, as it is, has more than a gigabyte.
    symlinkSync(join(ROOT, ".tools"), join(elsewhere, ".tools"));
    const [one, other] = [makeOnce(), make(elsewhere, join(folder, "release-of-another-place"))];
    assert.equal(readFileSync(join(other, "SHA256SUMS"), "utf8"), readFileSync(join(one, "SHA256SUMS"), "utf8"));
    run("sha256sum", ["--check", "--quiet", "SHA256SUMS"], { cwd: other });
  });

  it("makes all that a release has, and its notes", { ...LENGTHY, ...NEEDED }, () => {
    const release = makeOnce();
    const [deb, rpm] = process.arch === "arm64" ? ["arm64", "aarch64"] : ["amd64", "x86_64"];
    const expected = [
      ...["SHA256SUMS", "fairlead.1", "install.sh", `fairlead-${VERSION}.cdx.json`, `fairlead-${VERSION}.tgz`],
      ...[`fairlead-${VERSION}-${TARGET}.tar.gz`, `fairlead_${VERSION}_${deb}.deb`],
      ...[`fairlead-${VERSION}-1.${rpm}.rpm`, `fairlead-${VERSION}-image-${deb}.tar`],
    ];
    assert.deepEqual(readdirSync(release).toSorted(), expected.toSorted());
    assert.match(readFileSync(`${release}-notes.md`, "utf8"), /^### /m);
  });

  it("is refused for another version than the project's", () => {
    const { status, stderr } = spawnSync("make", ["release", "VERSION=9.9.9"], { cwd: ROOT, encoding: "utf8" });
    assert.notEqual(status, 0);
    assert.match(stderr, new RegExp(`VERSION=9\\.9\\.9 is asked for, and package\\.json says ${VERSION}`));
  });
});

describe("a release", () => {
  it("installs with install.sh: the real program runs", { ...LENGTHY, ...NEEDED }, () => {
    using w = makeInstallWorld();
    const { status, out, err } = w.run(["--yes"], { env: { FAIRLEAD_BASE_URL: `file://${makeOnce()}` } });
    assert.deepEqual([status, err], [0, ""]);
    assert.match(out, /^Installed: fairlead /m);
    assert.match(
      run(join(w.prefix, "bin/fairlead"), ["version"]),
      new RegExp(`^fairlead ${VERSION.replaceAll(".", "\\.")} `),
    );
  });

  it("has an RPM that names what it needs, and holds the same program", { ...LENGTHY, ...NEEDED }, () => {
    const release = makeOnce();
    const rpm = join(release, readdirSync(release).find((name) => name.endsWith(".rpm")) ?? "");
    const about = run("rpm", ["-qp", "--qf", "%{NAME} %{VERSION} %{LICENSE} %{BUILDHOST}\n", rpm]);
    assert.equal(about, `fairlead ${VERSION} MIT reproducible\n`);
    assert.match(run("rpm", ["-qp", "--requires", rpm]), /^libc\.so\.6\(GLIBC_2\.34\)\(64bit\)$/m);
    const columns = "%{FILEMODES:perms} %{FILEUSERNAME} %{FILEGROUPNAME} %{FILENAMES} %{FILEFLAGS:fflags}";
    const files = run("rpm", ["-qp", "--qf", `[${columns}\n]`, rpm]);
    assert.match(files, /^-rw-r----- root fairlead \/etc\/fairlead\/config\.yaml cn$/m);
    const tree = join(folder, "rpm");
    mkdirSync(tree);
    run("sh", ["-euc", 'rpm2cpio "$0" | cpio --extract --make-directories --quiet', rpm], { cwd: tree });
    assert.match(run(join(tree, "usr/bin/fairlead"), ["version"]), new RegExp(`^fairlead ${VERSION}`));
  });
});

describe("the signature of a release", { ...without(["minisign"]) }, () => {
  /** A key of this test's own, and a release whose sums it signs. */
  function sign(release: string, work: string): string {
    run("minisign", ["-G", "-W", "-p", join(work, "key.pub"), "-s", join(work, "key")]);
    run("make", [
      "sign",
      `RELEASE=${release}`,
      `VERSION=${VERSION}`,
      `MINISIGN_KEY=${work}/key`,
      `MINISIGN_PUBLIC=${work}/key.pub`,
    ]);
    return readFileSync(join(work, "key.pub"), "utf8").trim().split("\n").at(-1) ?? "";
  }

  it("is made by make sign, and install.sh asks for it", () => {
    using w = makeInstallWorld();
    const key = sign(w.release, mkdtempSync(join(folder, "key-")));
    const env = { FAIRLEAD_PUBLIC_KEY: key };
    const { status, out } = w.run(["--yes"], { env });
    assert.equal(status, 0);
    assert.match(out, /whose signature it checks with minisign/);
  });

  it("is refused if the sums were changed, or another key has made it, or it is missing", () => {
    using w = makeInstallWorld();
    const key = sign(w.release, mkdtempSync(join(folder, "key-")));
    const anothers = sign(w.release, mkdtempSync(join(folder, "key-")));
    const refused = (env: Readonly<Record<string, string>>, why: RegExp): void => {
      const { status, err } = w.run(["--yes"], { env });
      assert.equal(status, 1);
      assert.match(err, why);
      assert.equal(existsSync(w.prefix), false);
    };
    refused({ FAIRLEAD_PUBLIC_KEY: key }, /the signature of .*SHA256SUMS is wrong/);
    const sums = join(w.release, "SHA256SUMS");
    writeFileSync(sums, readFileSync(sums, "utf8").replace(/^./, "z"));
    refused({ FAIRLEAD_PUBLIC_KEY: anothers }, /the signature of .*SHA256SUMS is wrong/);
    rmSync(`${sums}.minisig`);
    refused({ FAIRLEAD_PUBLIC_KEY: anothers }, /cannot copy .*SHA256SUMS\.minisig/);
  });
});

describe("the scripts and workflows", () => {
  it("have nothing that shellcheck complains of", { ...without(["shellcheck"]) }, () => {
    run("shellcheck", ["install.sh", "packaging/debian/prerm", "packaging/debian/postrm", ".ci/run"]);
  });

  it("have nothing that actionlint complains of", { ...LENGTHY, ...without(["go", "golang"]) }, (t) => {
    const place = join(ROOT, `.tools/actionlint-${ACTIONLINT}`);
    const program = join(place, "actionlint");
    if (!existsSync(program)) {
      const env = { ...process.env, GOBIN: place, GOFLAGS: `-p=${cpus().length}` };
      const args = ["install", `github.com/rhysd/actionlint/cmd/actionlint@${ACTIONLINT}`];
      const { status, stderr } = spawnSync("go", args, { env, encoding: "utf8" });
      if (status !== 0) return t.skip(`go could not install actionlint: ${stderr.trim().split("\n").at(-1)}`);
    }
    run(program, []);
    // Each action is one commit: a tag can be moved to another one.
    const workflows = readdirSync(join(ROOT, ".github/workflows"));
    for (const name of workflows) {
      const text = readFileSync(join(ROOT, ".github/workflows", name), "utf8");
      const used = [...text.matchAll(/uses: (.*)/g)].map(([, action = ""]) => action);
      for (const action of used) assert.match(action, /^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
      assert.match(text, /^permissions:/m);
    }
    assert.deepEqual(workflows.toSorted(), ["ci.yml", "release.yml"]);
  });
});

const ACTIONLINT = "v1.7.12";
