import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { printable } from "../../src/client/show.ts";
import { Secret } from "../../src/model/secret.ts";
import { createLog, cut, type Fields, type LogOptions } from "../../src/runtime/log.ts";

const AT = Date.UTC(2026, 2, 14, 15, 9, 26, 535);

function startLog(options: Partial<LogOptions> = {}) {
  const lines: string[] = [];
  const write = (line: string) => lines.push(line);
  const defaults = { level: "info", format: "logfmt", isTerminal: false, journald: false, wall: () => AT } as const;
  return { log: createLog({ ...defaults, write, ...options }), lines };
}

function lineOf(fields: Fields, options: Partial<LogOptions> = {}): string {
  const { log, lines } = startLog(options);
  log.line("error", "delivery.expired", fields);
  assert.equal(lines.length, 1);
  return lines[0] ?? "";
}

const FIELDS = { delivery: 7, destination: "crm", reason: "no success within 4h" };

describe("formats", () => {
  it("writes logfmt with quotes where they are needed", () => {
    const line = lineOf({ ...FIELDS, quoted: 'say "hi" = \\', empty: "", yes: true });
    assert.equal(
      line,
      'time=2026-03-14T15:09:26.535Z level=error msg=delivery.expired delivery=7 destination=crm reason="no success within 4h"' +
        ' quoted="say \\"hi\\" = \\\\" empty="" yes=true\n',
    );
  });

  it("writes one flat JSON object a line, with time, level and msg first", () => {
    const line = lineOf(FIELDS, { format: "json" });
    assert.equal(
      line,
      '{"time":"2026-03-14T15:09:26.535Z","level":"error","msg":"delivery.expired","delivery":7,"destination":"crm","reason":"no success within 4h"}\n',
    );
  });

  it("writes text as time, level, name and fields, without colour when it is no terminal", () => {
    const line = lineOf(FIELDS, { format: "text" });
    assert.equal(
      line,
      '2026-03-14T15:09:26.535Z error   delivery.expired delivery=7 destination=crm reason="no success within 4h"\n',
    );
  });

  it("colours text on a terminal, and only the time and the level", () => {
    const line = lineOf({ reason: "\u001b[31mred" }, { format: "text", isTerminal: true, colors: true });
    assert.equal(
      line,
      '\u001b[2m2026-03-14T15:09:26.535Z\u001b[0m \u001b[1m\u001b[31merror  \u001b[0m delivery.expired reason="\\u001b[31mred"\n',
    );
  });

  it("takes auto for text on a terminal, and for logfmt elsewhere", () => {
    for (const isTerminal of [true, false]) {
      const auto = lineOf(FIELDS, { format: "auto", isTerminal });
      assert.equal(auto, lineOf(FIELDS, { format: isTerminal ? "text" : "logfmt", isTerminal }));
    }
  });
});

describe("a duration", () => {
  const fields = {
    next: { ms: 42_400 },
    age: { ms: 6 * 60_000 },
    took: { ms: 0 },
    by: { ms: -7_200_000 },
    location: null,
  };

  it("is a number of milliseconds in JSON, with the unit in the key", () => {
    const line = JSON.parse(lineOf(fields, { format: "json" }));
    assert.deepEqual(Object.entries(line).slice(3), [
      ["next_ms", 42_400],
      ["age_ms", 360_000],
      ["took_ms", 0],
      ["by_ms", -7_200_000],
    ]);
  });

  for (const format of ["text", "logfmt"] as const) {
    it(`is for people in ${format}`, () => {
      assert.match(lineOf(fields, { format }), / next=42s age=6m took=0ms by=-2h\n$/);
    });
  }
});

describe("the name of what happened", () => {
  it("has one key, msg, in the formats that have keys", () => {
    assert.equal(JSON.parse(lineOf({}, { format: "json" })).msg, "delivery.expired");
    assert.match(lineOf({}, { format: "logfmt" }), / msg=delivery\.expired\n$/);
  });
});

describe("under systemd's journal", () => {
  it("starts each line with its priority, and leaves the time to the journal", () => {
    const { log, lines } = startLog({ journald: true, level: "debug", format: "auto" });
    for (const level of ["error", "warning", "info", "debug"] as const) log.line(level, "lane.opened", { url: "u" });
    assert.deepEqual(lines, [
      "<3>level=error msg=lane.opened url=u\n",
      "<4>level=warning msg=lane.opened url=u\n",
      "<6>level=info msg=lane.opened url=u\n",
      "<7>level=debug msg=lane.opened url=u\n",
    ]);
  });

  it("does the same for JSON and text", () => {
    assert.match(lineOf({}, { journald: true, format: "json" }), /^<3>\{"level":"error","msg":"delivery.expired"}\n$/);
    assert.match(lineOf({}, { journald: true, format: "text" }), /^<3>error {3}delivery\.expired\n$/);
  });

  it("writes for people when a terminal only inherited the journal's variable", () => {
    assert.equal(
      lineOf(FIELDS, { journald: true, isTerminal: true, format: "auto" }),
      lineOf(FIELDS, { isTerminal: true, format: "text" }),
    );
  });
});

describe("characters that are not seen, or turn the direction of writing", () => {
  it("are escaped, and are the same ones as in the client library and in commands", () => {
    for (let from = 0; from <= 0x10_ffff; from += 400) {
      const codes = Array.from({ length: Math.min(400, 0x11_0000 - from) }, (_, nth) => from + nth);
      const text = String.fromCodePoint(...codes);
      assert.ok(lineOf({ text }, { format: "json" }).includes(`"text":${printable(JSON.stringify(text))}}`), `${from}`);
    }
    assert.match(lineOf({ text: "a\u200b\u202eb" }, { format: "logfmt" }), / text="?a\\u200b\\u202eb"?\n$/);
  });
});

describe("levels", () => {
  it("writes the level it was given and those above", () => {
    const { log, lines } = startLog({ level: "warning" });
    for (const level of ["debug", "info", "warning", "error"] as const) log.line(level, level, {});
    assert.deepEqual(
      lines.map((line) => /msg=(\w+)/.exec(line)?.[1]),
      ["warning", "error"],
    );
    assert.equal(log.enabled("info"), false);
    assert.equal(log.enabled("warning"), true);
  });

  it("takes another level and format while it runs, and other logs keep theirs", () => {
    const [one, other] = [startLog(), startLog()];
    one.log.configure({ level: "debug", format: "json" });
    one.log.line("debug", "a.b", {});
    other.log.line("debug", "a.b", {});
    assert.equal(JSON.parse(one.lines[0] ?? "").msg, "a.b");
    assert.deepEqual(other.lines, []);
  });
});

describe("what clients and receivers send cannot break a line", () => {
  const nasty = `a\nlevel=error msg=forged\r\n\u0000\u001b[2J\u007f\u0085\u009b\u2028\u2029\u202e\u2066"\\`;

  for (const format of ["text", "json", "logfmt"] as const) {
    it(`keeps newlines, control and direction characters out of ${format}`, () => {
      const line = lineOf({ reason: nasty }, { format });
      assert.match(line, /^[\x20-\x7e]+\n$/);
    });
  }

  it("gives JSON that reads back as it was", () => {
    assert.equal(JSON.parse(lineOf({ reason: nasty }, { format: "json" })).reason, nasty);
  });

  it("cuts a value over 1,000 characters", () => {
    const { reason, exact } = JSON.parse(
      lineOf({ reason: "x".repeat(1_001), exact: "y".repeat(1_000) }, { format: "json" }),
    );
    assert.equal(reason, `${"x".repeat(1_000)}…`);
    assert.equal(exact, "y".repeat(1_000));
  });

  it("cuts between characters, not within one", () => {
    assert.equal(cut("ab😀cd", 3), "ab…");
    assert.equal(cut("ab😀cd", 4), "ab😀…");
  });

  it("does not let a field pass for the line's own", () => {
    const line = lineOf({ level: "info", time: "never", msg: "other" }, { format: "json" });
    assert.deepEqual(JSON.parse(line), {
      time: "2026-03-14T15:09:26.535Z",
      level: "error",
      msg: "delivery.expired",
      level_: "info",
      time_: "never",
      msg_: "other",
    });
  });
});

describe("what must not be in a log", () => {
  it("prints a secret as ***", () => {
    assert.match(lineOf({ key: new Secret("hunter2") }), / key=\*\*\*\n$/);
  });

  it("takes the query, the fragment and the user out of url", () => {
    const url = "https://ann:p@ss@crm.example.com:8443/hooks/in?token=t0k3n&a=b#frag";
    assert.match(lineOf({ url }), / url=https:\/\/crm\.example\.com:8443\/hooks\/in\n$/);
  });

  it("takes them out of a URL inside a sentence too", () => {
    const reason = "302: set url to https://u:pw@new.example.com/in?token=t0k3n, then reload";
    assert.match(lineOf({ reason }), / reason="302: set url to https:\/\/new\.example\.com\/in then reload"\n$/);
  });

  it("leaves out fields that have no value", () => {
    assert.match(lineOf({ source: null, type: undefined, status: 0 }), /msg=delivery\.expired status=0\n$/);
  });
});
