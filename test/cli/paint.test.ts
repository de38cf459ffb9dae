import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { table } from "../../src/cli/command.ts";
import { paint, useColors, useColumns, widthOf } from "../../src/cli/paint.ts";
import { serveHostile } from "./hostile.ts";
import { beginCommand, SLOW } from "./run.ts";

/** Runs with colours on both streams, as on a terminal. */
function inColor<Result>(run: () => Result): Result {
  useColors({ out: true, err: true });
  try {
    return run();
  } finally {
    useColors({ out: false, err: false });
  }
}

const RED = "\u001B[31m";
const CONTROL = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
const STYLE = new RegExp(`${RED.slice(0, 1)}\\[\\d+m`, "g");

describe("painted text", () => {
  it("is plain unless colours are on for its stream", () => {
    assert.equal(paint.bad("x"), "x");
    assert.equal(
      inColor(() => paint.bad("x")),
      "\u001B[31mx\u001B[39m",
    );
    useColors({ out: false, err: true });
    assert.deepEqual([paint.bad("x"), paint.bad("x", "err")], ["x", "\u001B[31mx\u001B[39m"]);
    useColors({ out: false, err: false });
  });

  it("is aligned in tables as if it were plain", () => {
    const make = () =>
      table(
        ["name", "state"],
        [
          ["a", paint.bad("failing")],
          [paint.good("longer"), "ok"],
        ],
      );
    const painted = inColor(make);
    assert.ok(painted.includes(RED));
    assert.equal(painted.replace(STYLE, ""), make());
    assert.equal(widthOf(inColor(() => paint.faint("four"))), 4);
  });
});

describe("a table on a terminal", () => {
  const rows = [["42-crm", "the receiver refused the request with 503"]];

  it("fits it: the last column is cut", () => {
    useColumns(40);
    const [, row = ""] = table(["id", "why"], rows).split("\n");
    useColumns(null);
    assert.equal(row, "42-crm  the receiver refused the reques…");
    assert.equal(row.length, 40);
  });

  it("is whole in a pipe, and keeps a part of the last column on any terminal", () => {
    assert.match(table(["id", "why"], rows), /with 503$/);
    useColumns(10);
    const narrow = table(["id", "why"], rows);
    useColumns(null);
    assert.match(narrow, /\n42-crm {2}the receive…$/);
  });
});

describe("colours of a command", () => {
  const config = ["--config", "/nowhere/config.yaml"];

  it("are off in a pipe, and on with FORCE_COLOR", SLOW, async () => {
    const plain = await beginCommand(["check", ...config], { FORCE_COLOR: "", NO_COLOR: "" }).ended;
    assert.doesNotMatch(plain.err, STYLE);
    const forced = await beginCommand(["check", ...config], { FORCE_COLOR: "1", NO_COLOR: "" }).ended;
    assert.ok(forced.err.includes(RED));
    assert.equal(forced.err.replace(STYLE, ""), plain.err);
  });

  it("are off with NO_COLOR, whatever else is set, also in the help and its errors", SLOW, async () => {
    const env = { FORCE_COLOR: "1", NO_COLOR: "1" };
    for (const args of [["check", ...config], ["--help"], [], ["sned"]]) {
      const { out, err } = await beginCommand(args, env).ended;
      assert.doesNotMatch(out + err, STYLE);
    }
    const { out, err } = await beginCommand(["sned"], { FORCE_COLOR: "1", NO_COLOR: "" }).ended;
    assert.ok(err.includes(RED), out);
  });

  it("never get into JSON", SLOW, async () => {
    await using daemon = await serveHostile();
    for (const args of daemon.lists) {
      const { code, out } = await daemon.run([...args, "--json"], { FORCE_COLOR: "1" });
      assert.ok(code === 0 || code === 1, args.join(" "));
      assert.doesNotMatch(out.trimEnd(), CONTROL, args.join(" "));
      JSON.parse(out);
    }
  });
});

describe("foreign text", () => {
  it("brings no control characters to a terminal in any list", SLOW, async () => {
    await using daemon = await serveHostile();
    for (const args of daemon.lists) {
      const { out, err } = await daemon.run(args, { FORCE_COLOR: "1", NO_COLOR: "" });
      assert.ok(out.includes("\\u001b[2J"), `${args.join(" ")}: ${out}${err}`);
      const shown = `${out}${err}`.replace(STYLE, "").replaceAll("\n", "");
      assert.doesNotMatch(shown, CONTROL, args.join(" "));
    }
  });

  it("brings none in a refusal either", SLOW, async () => {
    await using daemon = await serveHostile({ refusing: true });
    for (const args of daemon.lists) {
      const { code, err } = await daemon.run(args, { FORCE_COLOR: "1", NO_COLOR: "" });
      assert.equal(code, 1);
      assert.doesNotMatch(err.replace(STYLE, "").replaceAll("\n", ""), CONTROL, args.join(" "));
    }
  });
});
