import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { describe, it } from "node:test";
import { feed } from "./feed.ts";
import type { Process } from "./process.ts";
import { startPlace, startReceiver } from "./receiver.ts";
import { PATIENT } from "./waiting.ts";
import { KEY, makeConfig, makeWorld, type World } from "./world.ts";

const env = { FAIRLEAD_WRITE_KEY: KEY };

/** So many lines, of which nobody else has the user. Five batches. */
const LINES = 5_000;
const users = Array.from({ length: LINES }, (_, index) => `u${index}`);
const events = users.map((userId) => `${JSON.stringify({ type: "track", userId, event: "Bought" })}\n`).join("");

type Ended = { readonly code: number | null; readonly out: string; readonly err: string };

async function ended(process: Process): Promise<Ended> {
  const { code } = await process.exit;
  return { code, out: process.out.join("\n"), err: process.err.join("\n") };
}

/** Begins to import events.jsonl, as JSON for a test to read. */
function begin(w: World, url: string, ...more: readonly string[]): Process {
  return w.run(["send", "--import", "events.jsonl", "--url", url, "--json", ...more], { env });
}

type Gate = AsyncDisposable & {
  readonly url: string;
  /** Where it leads to. */
  to: string;
  /** Hears of each answer of the daemon, before it is handed on. */
  onAnswer: (nth: number) => void | Promise<void>;
};

/** Stands between an import and the daemon, so that a test can do something between a commit and its answer. */
function startGate(to: string): Gate {
  let nth = 0;
  const gate = { to, onAnswer: (() => {}) as Gate["onAnswer"] };
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch({ url, method, headers, body }) {
      nth += 1;
      const count = nth;
      const answer = await fetch(gate.to + new URL(url).pathname, { method, headers, body }).catch(() => null);
      if (answer === null) return new Response("", { status: 502 });
      const text = await answer.text();
      await gate.onAnswer(count);
      return new Response(text, { status: answer.status, headers: { "Content-Type": "application/json" } });
    },
  });
  return Object.assign(gate, {
    url: `http://127.0.0.1:${server.port}`,
    [Symbol.asyncDispose]: () => server.stop(true),
  });
}

/** Whom each webhook is about. */
function usersOf(hooks: readonly { readonly body: string }[]): readonly string[] {
  return hooks.map(({ body }) => JSON.parse(body).userId);
}

async function filesOf(w: World): Promise<readonly string[]> {
  return (await readdir(w.folder)).filter((name) => name.startsWith("events")).toSorted();
}

describe("fairlead send --import", () => {
  it("delivers each line once, and recognises the same file when it comes again", PATIENT, async () => {
    await using place = await startPlace();
    const { receiver, w } = place;
    const { ingest } = place.daemon;
    await w.write("events.jsonl", events);
    const first = await ended(w.run(["send", "--import", "events.jsonl", "--url", ingest], { env }));
    assert.deepEqual([first.code, first.err], [0, ""]);
    assert.match(first.out, /^Imported: events\.jsonl, 5000 lines in .*\n {2}accepted {3}5000$/);
    const second = await ended(begin(w, ingest));
    assert.partialDeepStrictEqual(JSON.parse(second.out), { complete: true, accepted: 0, duplicate: LINES });
    assert.deepEqual(usersOf(await receiver.count(LINES)).toSorted(), users.toSorted());
    assert.equal(receiver.forged, 0);
    assert.deepEqual(await filesOf(w), ["events.jsonl"]);
  });

  it(
    "goes on after kill -9, also of a batch whose answer it has not heard: nothing is lost or doubled",
    PATIENT,
    async () => {
      await using place = await startPlace();
      const { receiver, w } = place;
      const { ingest } = place.daemon;
      await w.write("events.jsonl", events);
      await using gate = startGate(ingest);
      const killed = begin(w, gate.url);
      gate.onAnswer = async (nth) => {
        if (nth !== 3) return;
        killed.kill("SIGKILL");
        await killed.exit;
      };
      assert.equal((await killed.exit).signal, "SIGKILL");
      const { code, out, err } = await ended(begin(w, gate.url));
      assert.deepEqual([code, err], [0, ""]);
      assert.partialDeepStrictEqual(JSON.parse(out), {
        complete: true,
        lines: LINES,
        accepted: 2_000,
        duplicate: 3_000,
      });
      assert.deepEqual(usersOf(await receiver.count(LINES)).toSorted(), users.toSorted());
      assert.deepEqual(await filesOf(w), ["events.jsonl"]);
    },
  );

  it("waits for a daemon that is killed, says so, and goes on with the next one", PATIENT, async () => {
    await using receiver = startReceiver();
    await using w = await makeWorld();
    await w.write("config.yaml", makeConfig({ url: receiver.url }));
    const named = users.map((userId) => ({ type: "track", userId, event: "Bought", messageId: `m-${userId}` }));
    await w.write("events.jsonl", named.map((call) => JSON.stringify(call)).join("\n"));
    const daemon = await w.serve();
    await using gate = startGate(daemon.ingest);
    const importing = begin(w, gate.url);
    gate.onAnswer = async (nth) => {
      if (nth !== 2) return;
      daemon.process.kill("SIGKILL");
      await daemon.process.exit;
    };
    await importing.line(/answers 502; retrying$/);
    gate.to = (await w.serve()).ingest;
    const { code, out, err } = await ended(importing);
    assert.equal(code, 0);
    assert.match(err, /answers again$/);
    assert.partialDeepStrictEqual(JSON.parse(out), { complete: true, accepted: LINES, duplicate: 0 });
    // What was delivered when the daemon was killed may be delivered again; it has the same messageId.
    await receiver.all(named.map(({ messageId }) => messageId));
  });

  it("finishes its batch after a Ctrl-C, and says how to continue", PATIENT, async () => {
    await using place = await startPlace();
    const { receiver, w } = place;
    const { ingest } = place.daemon;
    await w.write("events.jsonl", events);
    await using gate = startGate(ingest);
    const importing = w.run(["send", "--import", "events.jsonl", "--url", gate.url], { env });
    gate.onAnswer = (nth) => void (nth === 2 && importing.kill("SIGINT"));
    const stopped = await ended(importing);
    assert.equal(stopped.code, 1);
    const [, line = "", from = ""] =
      /after line (\d+): interrupted\. To continue, run it again with --from-line (\d+)/.exec(stopped.err) ?? [];
    // The signal may reach it a batch later.
    assert.ok(Number(line) >= 2_000 && Number(line) < LINES, stopped.err);
    const { code, out } = await ended(begin(w, gate.url, "--from-line", from));
    assert.equal(code, 0);
    const left = LINES - Number(line);
    assert.partialDeepStrictEqual(JSON.parse(out), { lines: left, accepted: left, duplicate: 0 });
    const { out: again } = await ended(begin(w, gate.url));
    assert.partialDeepStrictEqual(JSON.parse(again), { accepted: 0, duplicate: LINES });
    assert.deepEqual(usersOf(await receiver.count(LINES)).toSorted(), users.toSorted());
  });

  it("takes the good lines, and lists the others with their numbers", PATIENT, async () => {
    await using receiver = startReceiver();
    await using w = await makeWorld();
    await w.write("config.yaml", makeConfig({ url: receiver.url }));
    const good = '{"type":"page","userId":"u1","timestamp":"2020-01-02T03:04:05Z","messageId":"m1"}';
    const large = JSON.stringify({ type: "track", userId: "u1", event: "e", properties: { text: "x".repeat(33_000) } });
    await w.write("events.jsonl", [good, "nope", "", '{"type":"track","userId":"u1"}', large, ""].join("\n"));
    const { ingest } = await w.serve();
    const { code, out, err } = await ended(begin(w, ingest));
    assert.equal(code, 1);
    const counts = { complete: true, lines: 5, accepted: 1, duplicate: 0, refused: 3 };
    assert.partialDeepStrictEqual(JSON.parse(out), { ...counts, refusedFile: "events.jsonl.refused" });
    const told = ["line 2: invalid_json: is not JSON: expected a value at column 1", "line 4: missing_event: You must"];
    for (const [index, text] of told.entries()) assert.ok(err.split("\n")[index]?.startsWith(text), err);
    const listed = (await w.read("events.jsonl.refused"))
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    assert.deepEqual(
      listed.map((one) => [one.line, one.code]),
      [
        [2, "invalid_json"],
        [4, "missing_event"],
        [5, "call_too_large"],
      ],
    );
    assert.equal(listed[2].text, large);
    await receiver.all(["m1"]);
    assert.equal(JSON.parse(receiver.hooks[0]?.body ?? "").timestamp, "2020-01-02T03:04:05.000Z");
  });

  it("reads standard input", PATIENT, async () => {
    await using place = await startPlace();
    const { receiver, w } = place;
    const { ingest } = place.daemon;
    const fed = feed(w, ["send", "--import", "-", "--url", ingest, "--json"], { input: `${events}nope`, env });
    assert.equal(fed.code, 1);
    assert.equal(fed.err, "line 5001: invalid_json: is not JSON: expected a value at column 1\n");
    assert.partialDeepStrictEqual(JSON.parse(fed.out), { input: "standard input", accepted: LINES, refused: 1 });
    assert.deepEqual(usersOf(await receiver.count(LINES)).toSorted(), users.toSorted());
  });

  it("says at once that nobody is there, or that the key is wrong, and leaves nothing behind", PATIENT, async () => {
    await using w = await makeWorld();
    await w.write("config.yaml", makeConfig({ url: "http://127.0.0.1:9/hooks" }));
    await w.write("events.jsonl", events);
    const nobody = await ended(w.run(["send", "--import", "events.jsonl", "--url", `unix:${w.path("none")}`], { env }));
    assert.deepEqual([nobody.code, nobody.out], [1, ""]);
    assert.match(nobody.err, /^fairlead: nothing of events\.jsonl was imported: unix:.* is fairlead serve running\?$/);
    const { ingest } = await w.serve();
    const options = { env: { FAIRLEAD_WRITE_KEY: "wrong" } };
    const wrong = await ended(w.run(["send", "--import", "events.jsonl", "--url", ingest], options));
    assert.match(wrong.err, /was imported: http:.* answers 401 unknown_write_key: /);
    assert.equal(wrong.code, 1);
    assert.deepEqual(await filesOf(w), ["events.jsonl"]);
  });

  it("exits 2 if it is wrongly used", PATIENT, async () => {
    await using w = await makeWorld();
    for (const [args, message] of [
      [["send"], /^fairlead: name the type of call \(identify, .*\), or use --import$/],
      [
        ["send", "track", "--import", "a"],
        /^fairlead: track describes one call; with --import, each line is a whole call$/,
      ],
      [["send", "--import", "a", "--user", "u"], /^fairlead: --user describes one call; /],
      [["send", "--import", "a", "--url", "http://127.0.0.1:9"], /^fairlead: cannot read --import a: no such file$/],
    ] as const) {
      const { code, err } = await ended(w.run(args, { env }));
      assert.equal(code, 2);
      assert.match(err, message);
    }
  });
});
