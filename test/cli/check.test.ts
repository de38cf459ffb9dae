// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references, as a config file has them.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";

const FOLDER = mkdtempSync(join(tmpdir(), "fairlead-check-"));
const FILE = join(FOLDER, "config.yaml");
after(() => rmSync(FOLDER, { recursive: true }));

const GOOD = `sources:
  website: { writeKey: "\${KEY}" }
  app: { writeKey: def }
destinations:
  crm:
    sources: [website]
    webhooks:
      - url: https://crm.example.com
      - url: https://standby.example.com
outbox: { maxSize: 1MB, freeDisk: 0 }
`;
const WITH_CREDENTIAL = GOOD.replace("def", '"${credential:app-key}"');
const BAD = GOOD.replace("def", "*nowhere");
const ENV = { KEY: "hush-hush" };

describe("fairlead check", () => {
  it("says that a good config is valid, what is in it, and what is doubtful about it", () => {
    const { status, stdout, stderr } = check(GOOD);
    assert.equal(status, 0);
    assert.equal(stdout, `${FILE} is valid: 2 sources, 1 destination, 2 webhooks\n`);
    assert.match(
      stderr,
      /^.*config\.yaml:3:3: warning: sources\.app: is used by no destination: its events go nowhere\n/,
    );
  });

  it("warns of a disk that cannot hold what outbox.maxSize promises", () => {
    const { status, stderr } = check(GOOD.replace("maxSize: 1MB", "maxSize: 256TB"));
    assert.equal(status, 0);
    assert.match(stderr, /:10:20: warning: outbox\.maxSize: is more than the disk has room for: 256TB do not fit /);
  });

  it("warns of its own secrets in a file that others can read, but not in a folder that they cannot enter", () => {
    const isDoubted = (): boolean => /every user of this machine can read: run chmod o-r/.test(check(GOOD).stderr);
    check(GOOD);
    chmodSync(FILE, 0o644);
    assert.equal(isDoubted(), false);
    chmodSync(FOLDER, 0o755);
    try {
      assert.equal(isDoubted(), true);
      chmodSync(FILE, 0o640);
      assert.equal(isDoubted(), false);
    } finally {
      chmodSync(FOLDER, 0o700);
    }
  });

  it("refuses a folder as the outbox", () => {
    const { status, stderr } = check(GOOD.replace("maxSize: 1MB", `path: ${FOLDER}`));
    assert.equal(status, 78);
    assert.match(stderr, /outbox\.path: is a folder: name a file in it, as .*\/fairlead\.db/);
  });

  it("says what is wrong with a bad one, and ends with 78", () => {
    for (const options of [[], ["--explain"]]) {
      const { status, stdout, stderr } = check(BAD, { options });
      assert.equal(status, 78);
      assert.equal(stdout, "");
      assert.match(stderr, /config\.yaml:3:20: sources\.app\.writeKey: is an alias/);
    }
  });

  it("looks into the files that it includes: what they have, what is wrong there, and who can read them", () => {
    const more = join(FOLDER, "conf.d", "more.yaml");
    mkdirSync(join(FOLDER, "conf.d"));
    writeFileSync(more, "sources:\n  more: { writeKey: ghi }\n");
    const including = `include: [conf.d/*.yaml]\n${GOOD}`;
    chmodSync(FOLDER, 0o755);
    try {
      const { status, stdout, stderr } = check(including);
      assert.equal(status, 0);
      assert.equal(stdout, `${FILE} is valid: 3 sources, 1 destination, 2 webhooks, 1 included file\n`);
      assert.ok(stderr.includes(`${more}:2:21: warning: sources.more.writeKey: is a secret`), stderr);
      assert.ok(stderr.includes(`run chmod o-r ${more}`), stderr);
      writeFileSync(more, "sources:\n  more: { writeKe: ghi }\n");
      const { problems } = JSON.parse(check(including, { options: ["--json"] }).stdout);
      assert.deepEqual([problems[0].file, problems[0].line, problems[0].column], [more, 2, 11]);
    } finally {
      chmodSync(FOLDER, 0o700);
      rmSync(join(FOLDER, "conf.d"), { recursive: true });
    }
  });

  it("says so as JSON", () => {
    const good = JSON.parse(check(GOOD, { options: ["--json"] }).stdout);
    assert.deepEqual([good.valid, good.file, good.problems.length], [true, FILE, 1]);
    for (const options of [["--json"], ["--json", "--explain"]]) {
      const { status, stdout } = check(BAD, { options });
      assert.equal(status, 78);
      assert.equal(JSON.parse(stdout).valid, false);
      assert.equal(JSON.parse(stdout).problems[0].line, 3);
    }
  });

  it("says that there is no file, as text and as JSON", () => {
    const options = ["--config", join(FOLDER, "nowhere.yaml")];
    assert.match(run(options).stderr, /^fairlead: cannot read the config file .*nowhere\.yaml: no such file\n$/);
    assert.equal(run(options).status, 78);
    assert.match(JSON.parse(run([...options, "--json"]).stdout).message, /no such file/);
  });
});

describe("fairlead check, of a config with credentials", () => {
  it("warns outside of systemd's unit that it cannot look at them, and finds all else good", () => {
    const { status, stdout, stderr } = check(WITH_CREDENTIAL);
    assert.equal(status, 0);
    assert.match(
      stdout,
      /config\.yaml is valid, as far as this user can check it: 2 sources, 1 destination, 2 webhooks\n$/,
    );
    assert.match(
      stderr,
      /:3:21: warning: sources\.app\.writeKey: comes from the credential app-key, which only systemd's unit/,
    );
  });

  it("ends with 78 if something else is wrong", () => {
    const { status, stderr } = check(`${WITH_CREDENTIAL}log: { level: loud }\n`);
    assert.equal(status, 78);
    assert.match(stderr, /warning: sources\.app\.writeKey: comes from the credential/);
    assert.match(stderr, /log\.level: must be debug/);
  });

  it("looks at them inside of the unit", () => {
    const env = { CREDENTIALS_DIRECTORY: FOLDER };
    const missing = check(WITH_CREDENTIAL, { env });
    assert.equal(missing.status, 78);
    assert.match(missing.stderr, /sources\.app\.writeKey: cannot be read from the credential app-key: no such file/);
    writeFileSync(join(FOLDER, "app-key"), "abc\n", { mode: 0o600 });
    const found = check(WITH_CREDENTIAL, { env });
    assert.equal(found.status, 0);
    assert.match(found.stdout, /config\.yaml is valid: /);
  });
});

describe("fairlead check --explain", () => {
  it("prints a config with every key, and warnings beside it", () => {
    const { status, stdout, stderr } = check(GOOD, { options: ["--explain"] });
    assert.equal(status, 0);
    assert.ok(stdout.startsWith(`# ${FILE}: every key, its value, and where the value comes from.`));
    assert.match(stdout, /^ {4}writeKey: "\*\*\*" +# config\.yaml:2, from \$KEY$/m);
    assert.match(stdout, /^ {2}path: .*fairlead\.db +# default$/m);
    assert.doesNotMatch(stdout, /hush/);
    assert.deepEqual(Object.keys(parse(stdout).sources), ["website", "app"]);
    assert.match(stderr, /warning: sources\.app: is used by no destination/);
  });

  it("prints the same as JSON", () => {
    const { status, stdout } = check(GOOD, { options: ["--explain", "--json"] });
    assert.equal(status, 0);
    assert.doesNotMatch(stdout, /hush/);
    const { file, settings }: { file: string; settings: { path: string }[] } = JSON.parse(stdout);
    assert.equal(file, FILE);
    const of = (wanted: string) => settings.find(({ path }) => path === wanted);
    assert.deepEqual(of("sources.website.writeKey"), {
      path: "sources.website.writeKey",
      value: "***",
      from: `${FILE}:2, from $KEY`,
    });
    assert.deepEqual(of("delivery.timeout"), { path: "delivery.timeout", value: "5s", from: "default" });
  });
});

type How = { readonly options?: readonly string[]; readonly env?: Readonly<Record<string, string>> };

function check(text: string, { options = [], env = {} }: How = {}) {
  writeFileSync(FILE, text);
  return run(["--config", FILE, ...options], env);
}

/** A process of its own: it writes to its standard output directly. */
function run(options: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const script = fileURLToPath(new URL("../fixtures/run-check.ts", import.meta.url));
  const args = typeof Bun === "undefined" ? ["run", "-A", "--no-check", script] : [script];
  const { CREDENTIALS_DIRECTORY: _, ...machine } = process.env;
  return spawnSync(process.execPath, [...args, ...options], { encoding: "utf8", env: { ...machine, ...ENV, ...env } });
}
