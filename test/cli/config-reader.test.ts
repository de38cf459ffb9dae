// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references, as config files have them.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createReader, type LaterFiles } from "../../src/cli/config-reader.ts";
import type { FileText } from "../../src/model/ports.ts";
import { createFalseClock } from "../flow/clock.ts";

const FILE = "/etc/fairlead/config.yaml";
const CONFIG =
  'sources: { a: { writeKey: "${file:key}" } }\ndestinations: { d: { webhooks: [{ url: "http://a/" }] } }\n';

/** Files by their paths; what is null is never read to its end. */
function filesOf(texts: Readonly<Record<string, string | null>>): LaterFiles {
  function find(path: string): Promise<FileText> {
    const text = texts[path];
    if (text === null) return new Promise(() => {});
    return Promise.resolve(text === undefined ? NONE : { ok: true, text, worldReadable: false });
  }
  return { look: async (path) => `state of ${path}`, read: find };
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

  it("has a Problem where a file is missing, and that is watched too", async () => {
    const reader = createReader(FILE, filesOf({ [FILE]: CONFIG }));
    const read = await reader.read(FILE, createFalseClock());
    assert.ok("problems" in read);
    assert.match(read.problems[0]?.message ?? "", /cannot be read from the file \/etc\/fairlead\/key: no such file/);
    assert.ok(reader.seen().has("/etc/fairlead/key"));
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
