import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { LONGEST_USER } from "../../../src/admin/lists/member.ts";
import { readList, splitterFor } from "../../../src/admin/lists/read-list.ts";
import { LONGEST_ENTRY } from "../../../src/admin/lists/records.ts";
import type { Member, Value } from "../../../src/model/audience.ts";
import { isFault } from "../../../src/model/fault.ts";

/** What is read of these pieces, or the message of the fault. */
async function read(type: string, pieces: readonly string[], kind: "audience" | "trait" = "trait") {
  async function* text() {
    yield* pieces;
  }
  const splitter = splitterFor(type);
  if (isFault(splitter)) return splitter.message;
  const members: Member[] = [];
  for await (const some of readList(text(), splitter, kind)) {
    if (isFault(some)) return some.message;
    members.push(...some);
  }
  return members;
}

function quoted(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}

const user = fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 }).filter((text) => text.isWellFormed());
const value: fc.Arbitrary<Value> = fc.oneof(
  fc.string(),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0),
  fc.boolean(),
  fc.constant(null),
);
const list = fc.array(fc.record({ user, value }), { maxLength: 20 });
/** Where the text is cut into pieces. */
const cuts = fc.array(fc.nat({ max: 600 }), { maxLength: 6 });

function cut(text: string, places: readonly number[]): readonly string[] {
  const all = [0, ...places.filter((place) => place < text.length).toSorted((a, b) => a - b), text.length];
  return all.slice(1).map((end, nth) => text.slice(all[nth], end));
}

describe("a list", () => {
  it("is read as it was written: a JSON array, JSON lines", async () => {
    await fc.assert(
      fc.asyncProperty(list, cuts, fc.boolean(), async (members, places, pairs) => {
        const entries = members.map(({ user, value }) =>
          pairs ? [user, value] : { more: [1, "]"], userId: user, value },
        );
        const array = JSON.stringify(entries, null, pairs ? 2 : 0);
        assert.deepEqual(await read("application/json", cut(array, places)), JSON.parse(JSON.stringify(members)));
        const lines = entries.map((entry) => `${JSON.stringify(entry)}\n`).join("");
        assert.deepEqual(await read("application/x-ndjson", cut(lines, places)), JSON.parse(JSON.stringify(members)));
      }),
    );
  });

  it("is read as it was written: CSV", async () => {
    const cell = fc.string({ unit: "grapheme", minLength: 1, maxLength: 8 }).filter((text) => text.isWellFormed());
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(cell, cell)), cuts, async (rows, places) => {
        const text = `Value,more,User_ID\r\n${rows.map(([u, v]) => `${quoted(v)},x,${quoted(u)}`).join("\n")}`;
        const expected = rows.map(([user, value]) => ({ user, value }));
        assert.deepEqual(await read("text/csv; charset=utf-8", cut(text, places)), expected);
      }),
    );
  });

  it("has no text, and no bytes before it, that could end the daemon: all are answered", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string(),
        cuts,
        fc.constantFrom("text/csv", "application/json", "application/jsonl"),
        async (text, places, type) => {
          const found = await read(type, cut(`${text}\n"a,[{`, places));
          assert.ok(typeof found === "string" || Array.isArray(found));
        },
      ),
    );
  });

  it("may begin with a byte order mark, which is no part of it", async () => {
    assert.deepEqual(await read("text/csv", ["\uFEFFid\nu1\n"], "audience"), [{ user: "u1", value: true }]);
    assert.deepEqual(await read("application/json", ['\uFEFF["u1"]'], "audience"), [{ user: "u1", value: true }]);
    assert.deepEqual(await read("application/jsonl", ['\uFEFF"u1"'], "audience"), [{ user: "u1", value: true }]);
  });

  it("has entries of a bounded length, and users too", async () => {
    const long = "x".repeat(LONGEST_ENTRY + 1);
    for (const type of ["application/json", "application/jsonl"]) {
      const open = type === "application/json" ? '["' : '"';
      assert.match(String(await read(type, [open + long])), /is longer than 65536 characters/);
    }
    assert.match(String(await read("text/csv", [`id\n"${long}`])), /^line 2: it is longer/);
    const name = JSON.stringify("x".repeat(LONGEST_USER + 1));
    assert.match(
      String(await read("application/jsonl", [name], "audience")),
      /^line 1: its userId is longer than 1000/,
    );
  });

  it("has values that JSON can carry on", async () => {
    assert.match(String(await read("application/jsonl", ['["u1", 1e999]'])), /beyond the range of a double/);
    assert.match(
      String(await read("application/jsonl", ['["u1", [1]]'])),
      /must be a string, a number, true, false or null/,
    );
    assert.match(String(await read("application/jsonl", ['["u1"]'])), /has no userId/);
    assert.match(String(await read("application/jsonl", ["12345678901234567890"], "audience")), /has no userId/);
  });
});
