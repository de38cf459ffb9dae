// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references, as config files have them.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import { createReader, type LaterFiles } from "../../src/cli/config-reader.ts";
import type { FileText, FolderNames } from "../../src/model/ports.ts";
import { createFalseClock } from "../flow/clock.ts";

const FILE = "/etc/fairlead/config.yaml";
const CONFIG =
  'sources: { a: { writeKey: "${file:key}" } }\ndestinations: { d: { webhooks: [{ url: "http://a/" }] } }\n';

/** Files by their paths; what is null is never read to its end. */
function filesOf(texts: Readonly<Record<string, string | null | undefined>>): LaterFiles {
  function find(path: string): Promise<FileText> {
    const text = texts[path];
    if (text === null) return new Promise(() => {});
    return Promise.resolve(text === undefined ? NONE : { ok: true, text, worldReadable: false });
  }
  async function list(folder: string): Promise<FolderNames> {
    const names = Object.keys(texts).flatMap((path) =>
      dirname(path) === dirname(`${folder}x`) ? [basename(path)] : [],
    );
    return names.length === 0 ? NONE : { ok: true, names: names.sort() };
  }
  return { look: async (path) => `state of ${path}`, read: find, list };
}

const NONE = { ok: false, why: "no such file" } as const;

describe("a config that is read while the daemon runs", () => {
  it("is made of its file and all files that it names, and knows as what each was read", async () => {
    const reader = createReader(FILE, filesOf({ [FILE]: CONFIG, "/etc/fairlead/key": "the-key\n" }));
    const read = await reader.read(FILE, createFalseClock());
    assert.ok("config" in read);
    assert.equal(read.config?.sources[0]?.writeKey.reveal(), "the-key");
    assert.deepEqual(
      [...reader.seen()],
      [
        [FILE, `state of ${FILE}`],
        ["/etc/fairlead/key", "state of /etc/fairlead/key"],
      ],
    );
  });

  it("is made of the files that it includes too, and their folder is watched", async () => {
    const texts = {
      [FILE]: `include: [conf.d/*.yaml]\n`,
      "/etc/fairlead/conf.d/a.yaml": CONFIG,
      "/etc/fairlead/key": "k",
    };
    const reader = createReader(FILE, filesOf(texts));
    const read = await reader.read(FILE, createFalseClock());
    assert.ok("config" in read);
    assert.equal(read.config?.sources[0]?.writeKey.reveal(), "k");
    assert.deepEqual(
      [...reader.seen().keys()],
      [FILE, "/etc/fairlead/conf.d/", "/etc/fairlead/conf.d/a.yaml", "/etc/fairlead/key"],
    );
  });

  it("watches a folder of included files that is not there yet", async () => {
    const reader = createReader(FILE, filesOf({ [FILE]: `include: [conf.d/*.yaml]\n` }));
    const read = await reader.read(FILE, createFalseClock());
    assert.ok("problems" in read);
    assert.match(read.problems[0]?.message ?? "", /names the folder .*conf\.d, which cannot be listed: no such file/);
    assert.deepEqual([...reader.seen().keys()], [FILE, "/etc/fairlead/conf.d/"]);
  });

  it("has a Problem where a file is missing, and that is watched too", async () => {
    const reader = createReader(FILE, filesOf({ [FILE]: CONFIG }));
    const read = await reader.read(FILE, createFalseClock());
    assert.ok("problems" in read);
    assert.match(read.problems[0]?.message ?? "", /cannot be read from the file \/etc\/fairlead\/key: no such file/);
    assert.ok(reader.seen().has("/etc/fairlead/key"));
  });

  it("has a Problem where a folder stands for a file", async () => {
    const text = CONFIG.replace("file:key", "file:keys/");
    const read = await createReader(FILE, filesOf({ [FILE]: text, "/etc/fairlead/keys/a": "k" })).read(
      FILE,
      createFalseClock(),
    );
    assert.ok("problems" in read);
    assert.match(
      read.problems[0]?.message ?? "",
      /cannot be read from the file \/etc\/fairlead\/keys\/: it is a folder/,
    );
  });

  it("cannot be read where there is no file", async () => {
    const read = await createReader(FILE, filesOf({})).read(FILE, createFalseClock());
    assert.deepEqual(read, { unreadable: `cannot read the config file ${FILE}: no such file` });
  });

  for (const [what, texts] of [
    ["/etc/fairlead/key", { [FILE]: CONFIG, "/etc/fairlead/key": null }],
    [FILE, { [FILE]: null }],
  ] as const) {
    it(`is given up after five seconds when ${what} cannot be read to its end, and tried again`, async () => {
      const clock = createFalseClock();
      const reading = createReader(FILE, filesOf(texts)).read(FILE, clock);
      await clock.advance("5s");
      const unreadable = `reading ${what} takes longer than 5s; is its file system there?`;
      assert.deepEqual(await reading, { unreadable, again: true });
    });
  }
});

describe("a large config that is read while the daemon runs", () => {
  it("lets other work have its turn all the time", async () => {
    const { clock, turns } = countingClock();
    const text = largeConfig(500);
    const read = await createReader(FILE, filesOf({ [FILE]: text })).read(FILE, clock);
    assert.ok("config" in read);
    assert.equal(read.config?.sources.length, 500);
    assert.ok(turns() >= (2 * text.length) / 500, `${turns()} turns for ${text.length} characters`);
  });

  it("is not read again while it is the same to the byte", async () => {
    const { clock, turns } = countingClock();
    const reader = createReader(FILE, filesOf({ [FILE]: CONFIG, "/etc/fairlead/key": "the-key\n" }));
    const first = await reader.read(FILE, clock);
    const before = turns();
    assert.equal(await reader.read(FILE, clock), first);
    assert.equal(turns(), before);
    assert.deepEqual([...reader.seen().keys()], [FILE, "/etc/fairlead/key"]);
  });

  for (const [what, change] of Object.entries({
    "the file itself": { [FILE]: `# new\n${CONFIG}` },
    "a file that it names": { "/etc/fairlead/key": "another-key\n" },
    "that such a file is gone": { "/etc/fairlead/key": undefined },
  })) {
    it(`is read again when this has changed: ${what}`, async () => {
      const clock = createFalseClock();
      const texts: Record<string, string | undefined> = { [FILE]: CONFIG, "/etc/fairlead/key": "the-key\n" };
      const reader = createReader(FILE, filesOf(texts));
      const first = await reader.read(FILE, clock);
      Object.assign(texts, change);
      assert.notEqual(await reader.read(FILE, clock), first);
    });
  }

  for (const [what, change] of Object.entries({
    "an included file": { "/etc/fairlead/conf.d/a.yaml": "# another\n" },
    "that there is one more": { "/etc/fairlead/conf.d/b.yaml": "" },
    "that there is one less": { "/etc/fairlead/conf.d/c.yaml": undefined },
  })) {
    it(`with included files is read again when this has changed: ${what}`, async () => {
      const texts: Record<string, string | undefined> = {
        [FILE]: "include: [conf.d/*.yaml]\n",
        "/etc/fairlead/conf.d/a.yaml": "",
        "/etc/fairlead/conf.d/c.yaml": "",
      };
      const clock = createFalseClock();
      const reader = createReader(FILE, filesOf(texts));
      const first = await reader.read(FILE, clock);
      assert.equal(await reader.read(FILE, clock), first);
      for (const [path, text] of Object.entries(change)) {
        if (text === undefined) delete texts[path];
        else texts[path] = text;
      }
      assert.notEqual(await reader.read(FILE, clock), first);
    });
  }

  it("is read again when a credential has changed", async () => {
    const folder = mkdtempSync(join(tmpdir(), "fairlead-credentials-"));
    const before = process.env.CREDENTIALS_DIRECTORY;
    process.env.CREDENTIALS_DIRECTORY = folder;
    try {
      writeFileSync(join(folder, "key"), "first\n");
      const reader = createReader(FILE, filesOf({ [FILE]: 'sources: { a: { writeKey: "${credential:key}" } }\n' }));
      await reader.read(FILE, createFalseClock());
      writeFileSync(join(folder, "key"), "second\n");
      const read = await reader.read(FILE, createFalseClock());
      assert.ok("config" in read);
      assert.equal(read.config?.sources[0]?.writeKey.reveal(), "second");
    } finally {
      if (before === undefined) delete process.env.CREDENTIALS_DIRECTORY;
      else process.env.CREDENTIALS_DIRECTORY = before;
      rmSync(folder, { recursive: true });
    }
  });

  it("is read again after an hour: a certificate may have expired", async () => {
    const clock = createFalseClock();
    const reader = createReader(FILE, filesOf({ [FILE]: CONFIG, "/etc/fairlead/key": "the-key\n" }));
    const first = await reader.read(FILE, clock);
    await clock.advance("1h");
    assert.notEqual(await reader.read(FILE, clock), first);
  });
});

function countingClock() {
  const clock = createFalseClock();
  let turns = 0;
  function nextTurn(): Promise<void> {
    turns += 1;
    return clock.nextTurn();
  }
  return { clock: { ...clock, nextTurn }, turns: () => turns };
}

function largeConfig(sources: number): string {
  const entries = Array.from({ length: sources }, (_, nth) => `  source-${nth}:\n    writeKey: key-${nth}\n`);
  return `sources:\n${entries.join("")}destinations:\n  d: { webhooks: [{ url: "http://a/" }] }\n`;
}
