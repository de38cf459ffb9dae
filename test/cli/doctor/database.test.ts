import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type DatabaseFacts, judgeDatabase } from "../../../src/cli/doctor/database.ts";

const WELL: Extract<DatabaseFacts, { kind: "answers" }> = {
  kind: "answers",
  path: "postgres://db/o",
  version: "16.4",
  roundTrip: 0.42,
  schema: 2,
  newest: 2,
  refused: null,
  mayChange: false,
  mayNotVacuum: null,
  daemons: 3,
  doubts: [],
};

function judge(changes: Partial<typeof WELL>): readonly string[] {
  return judgeDatabase({ ...WELL, ...changes }).map(({ level, code }) => `${level} ${code}`);
}

describe("fairlead doctor, of an outbox on PostgreSQL", () => {
  it("says what it is, how far away, and how many daemons use it", () => {
    const [finding] = judgeDatabase(WELL);
    assert.equal(
      finding?.what,
      "postgres://db/o is on PostgreSQL 16.4, which answers in 0.4 ms; its tables have version 2, as this binary expects; " +
        "3 daemons use it",
    );
    assert.deepEqual(judge({ schema: 3 }), ["ok ok"]);
  });

  it("finds tables that are missing or older: an error if the start cannot make them", () => {
    assert.deepEqual(judge({ schema: 0 }), ["error schema_missing"]);
    assert.deepEqual(judge({ schema: 0, mayChange: true }), ["warning schema_missing"]);
    assert.deepEqual(judge({ schema: 1 }), ["error schema_older"]);
    assert.deepEqual(judge({ schema: 1, mayChange: true }), ["warning schema_older"]);
  });

  it("finds what keeps the daemon from using it", () => {
    assert.deepEqual(judge({ refused: { code: "grants_missing", message: "" }, schema: 0 }), ["error grants_missing"]);
    const away = { kind: "away", path: "postgres://db/o", code: "database_away", why: "refused" } as const;
    assert.deepEqual(
      judgeDatabase(away).map(({ level, code }) => `${level} ${code}`),
      ["error database_away"],
    );
  });

  it("finds a role with which erasing does not end by itself, and what is doubtful of the server", () => {
    const doubts = [{ code: "fsync_off", what: "", remedy: "" }];
    assert.deepEqual(judge({ mayNotVacuum: "daemon", doubts }), [
      "ok ok",
      "warning fsync_off",
      "warning may_not_vacuum",
    ]);
  });
});
