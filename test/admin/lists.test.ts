import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { LONGEST_ENTRY } from "../../src/admin/list-formats.ts";
import { LONGEST_USER, readList, splitterFor } from "../../src/admin/lists.ts";
import type { Member, Value } from "../../src/model/audience.ts";
import { isFault } from "../../src/model/fault.ts";

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

function noUser(place: string): string {
  return `${place}: it has no userId, which must be a string that is not empty, or a whole number up to 2^53`;
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
    const named = cell.filter((text) => text.trim() !== "");
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(named, cell)), cuts, async (rows, places) => {
        const text = `Value,more,User_ID\r\n${rows.map(([u, v]) => `${quoted(v)},x,${quoted(u)}`).join("\n")}`;
        const expected = rows.map(([user, value]) => ({ user: user.trim(), value }));
        assert.deepEqual(await read("text/csv; charset=utf-8", cut(text, places)), expected);
      }),
    );
  });

  it("has the same users in CSV, whatever white space is around them, and no column twice", async () => {
    const members = ["u1", "u 2", "u3"].map((user) => ({ user, value: " x " }));
    assert.deepEqual(await read("text/csv", [' userId ,value\n u1 , x \nu 2\u00a0, x \n" u3\t", x ']), members);
    assert.equal(await read("text/csv", ["userId,value\nu1,x\n  ,x\n"]), noUser("line 3"));
    for (const [header, column] of [
      ["userId,value,USERID", "userid"],
      ["id,value, value", "value"],
    ]) {
      assert.equal(
        await read("text/csv", [`${header}\na,b,c\n`]),
        `line 1: the header has two columns ${column}: which one counts?`,
      );
    }
    const ids = await read("text/csv", ["id,userId\nother,u1\n"], "audience");
    assert.deepEqual(ids, [{ user: "u1", value: true }]);
  });

  const EXACT = [
    "0.30000000000000004",
    "9007199254740992",
    "123456789012345680000",
    "36.500000000000000000",
    "1e21",
    "5e-324",
    "-0.0",
    "1.7976931348623157e308",
  ];
  const ROUNDED = [
    "9007199254740993",
    "12345678901234567890",
    "0.1000000000000000055511151231257827",
    "1e-400",
    "123456789012345678e3",
  ];
  for (const type of ["application/json", "application/x-ndjson"]) {
    it(`keeps numbers as they are, and refuses those that would be rounded: ${type}`, async () => {
      const listOf = (entry: string): string => (type === "application/json" ? `[${entry}]` : entry);
      for (const digits of EXACT) {
        for (const entry of [`["u1",${digits}]`, `{"userId":"u1","value": ${digits} ,"text":"12345678901234567890"}`]) {
          assert.deepEqual(await read(type, [listOf(entry)]), [{ user: "u1", value: Number(digits) }]);
        }
      }
      for (const digits of ROUNDED) {
        const found = await read(type, [listOf(`{"more":${digits},"userId":"u1","value":${digits}}`)]);
        assert.match(
          String(found),
          /^(line|entry) 1: its value \S+ has more digits than a number in JSON keeps: round it, or write it as a string$/,
        );
        assert.ok(String(found).includes(digits.slice(0, 50)));
        // Nobody reads it.
        const members = await read(type, [listOf(`{"more":${digits},"userId":"u1"}`)], "audience");
        assert.deepEqual(members, [{ user: "u1", value: true }]);
        assert.match(String(await read(type, [listOf(`[${digits},5]`)])), /it has no userId/);
      }
    });
  }

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
