import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { formatDuration } from "../../src/model/units.ts";
import { closed, startReceiver } from "../runtime/receiver.ts";
import { startWard, type Ward } from "./hostile-receivers-world.ts";
import { residentBytes } from "./resident.ts";
import * as sick from "./sick-receivers.ts";
import { PATIENT } from "./waiting.ts";

type Case = {
  readonly start: () => Promise<sick.Hostile>;
  /** As the metrics count it. */
  readonly outcome: string;
  /** What becomes of the delivery, as the log calls it. */
  readonly state: "delivered" | "retrying" | "failed";
  readonly reason?: RegExp;
};

/** Short, so that nobody has to wait for the five seconds of SPEC.md 8 again and again. */
const LIMIT = "2s";

const TIMEOUT = { outcome: "timeout", state: "retrying", reason: /^no answer within 2s$/ } as const;
const DELIVERED = { outcome: "delivered", state: "delivered" } as const;
const UNREACHABLE = { outcome: "unreachable", state: "retrying" } as const;
const CLOSED = { ...UNREACHABLE, reason: /^connection closed before an answer$/ } as const;
const NO_HTTP = { ...UNREACHABLE, reason: /^the answer is not valid HTTP$/ } as const;
const UNTRUSTED = { outcome: "untrusted", state: "retrying" } as const;

function that(sickness: sick.Sickness): Pick<Case, "start"> {
  return { start: () => startReceiver(sickness) };
}

function behind(certificate: string): Pick<Case, "start"> {
  return { start: () => sick.startBehindCertificate(certificate) };
}

/** The table of outcomes, and who brings them about. */
const CASES: Readonly<Record<string, Case>> = {
  hangs: { ...that(sick.hangs), ...TIMEOUT },
  "hangs-in-its-headers": { ...that(sick.hangsInItsHeaders), ...TIMEOUT },
  "drips-its-headers": { ...that(sick.dripsItsHeaders), ...TIMEOUT },
  "drips-interim-answers": { ...that(sick.dripsInterimAnswers), ...TIMEOUT },
  "hangs-in-the-tls-handshake": { start: sick.startWithoutHandshake, ...TIMEOUT },
  "hangs-after-its-headers": { ...that(sick.hangsAfterItsHeaders), ...DELIVERED },
  "drips-its-body": { ...that(sick.dripsItsBody), ...DELIVERED },
  "half-closes-in-its-body": { ...that(sick.halfClosesInItsBody), ...DELIVERED },
  "answers-100-mb": { ...that(sick.answers100MB), ...DELIVERED },
  "answers-a-gzip-bomb": { ...that(sick.answersAGzipBomb), ...DELIVERED },
  "refuses-with-100-mb": { ...that(sick.refusesWith100MB), outcome: "status_5xx", state: "retrying", reason: /^503$/ },
  "is-not-there": { start: sick.startNobody, ...UNREACHABLE, reason: /^connection refused$/ },
  resets: { ...that(sick.resets), ...CLOSED },
  "half-closes": { ...that(sick.halfCloses), ...CLOSED },
  "half-closes-in-its-headers": { ...that(sick.halfClosesInItsHeaders), ...CLOSED },
  "speaks-another-protocol": { ...that(sick.speaksAnotherProtocol), ...NO_HTTP },
  "answers-without-a-status": { ...that(sick.answersWithoutAStatus), ...NO_HTTP },
  "changes-the-protocol": { ...that(sick.changesTheProtocol), ...UNREACHABLE, reason: /switches to another protocol$/ },
  "sends-headers-without-end": { ...that(sick.sendsHeadersWithoutEnd), ...NO_HTTP },
  "sends-one-header-without-end": { ...that(sick.sendsOneHeaderWithoutEnd), ...UNREACHABLE, reason: /are too long$/ },
  "redirects-to-itself": {
    ...that(sick.redirectsToItself),
    ...{ outcome: "status_3xx", state: "failed", reason: /307: set url to \/hook$/ },
  },
  "is-self-signed": {
    ...behind("self-signed"),
    ...UNTRUSTED,
    reason: /nothing was sent: the certificate of \S+ is self-signed: /,
  },
  "has-expired": {
    ...behind("expired"),
    ...UNTRUSTED,
    reason: /nothing was sent: the certificate of \S+ has expired: /,
  },
  "has-another-name": {
    ...behind("wrong-name"),
    ...UNTRUSTED,
    reason: /the certificate of \S+ is for another host name: /,
  },
  "is-well-behind-tls": { ...behind("good"), ...DELIVERED },
};

describe("a daemon whose receivers are sick in two dozen ways", () => {
  const all = new AsyncDisposableStack();
  const receivers: Record<string, sick.Hostile> = {};
  let ward: Ward;
  let memoryAtFirst: number;

  before(async () => {
    receivers.well = all.use(await startReceiver(sick.isWell));
    for (const [name, { start }] of Object.entries(CASES)) receivers[name] = all.use(await start());
    ward = all.use(await startWard({ receivers, timeout: LIMIT }));
    memoryAtFirst = residentBytes(ward.daemon.process.pid);
  }, PATIENT);
  after(() => all.disposeAsync(), PATIENT);

  for (const [name, { outcome, state, reason }] of Object.entries(CASES)) {
    it(`tells of one that ${spoken(name)}: ${outcome}, and the delivery is ${state}`, PATIENT, async () => {
      const attempt = await ward.line(/attempt\.\w+/, name);
      if (outcome === "timeout") assert.equal(formatDuration(Number(attempt.duration_ms)), LIMIT);
      const settled = await ward.line(/delivery\.\w+/, name);
      assert.equal(settled.msg, `delivery.${state}`);
      if (reason) assert.match(String(settled.reason), reason);
      assert.ok((await ward.metric("fairlead_attempts_total", { destination: name, outcome })) > 0);
      if (state !== "retrying") assert.equal(receivers[name]?.requests.length, 1);
      if (outcome === "untrusted") assert.deepEqual(receivers[name]?.requests, []);
    });
  }

  for (const name of ["answers-100-mb", "refuses-with-100-mb", "sends-headers-without-end"]) {
    it(`takes only a little of one that ${spoken(name)}`, PATIENT, async () => {
      const [socket] = receivers[name]?.sockets ?? [];
      assert.ok(socket);
      await closed(socket);
      // The buffers between two sockets hold several MB.
      assert.ok(socket.bytesWritten < sick.MB_100 / 5, `${socket.bytesWritten} bytes were taken`);
    });
  }

  it("delivers 50 more calls to the one that is well, and its memory stays small", PATIENT, async () => {
    const call = { type: "track", userId: "u1", event: "E" };
    assert.equal((await ward.daemon.call("/v1/batch", { batch: Array(50).fill(call) })).status, 200);
    await ward.delivered("well", 51);
    // A lane closes after ten failures without an answer, or is slowed where there are answers; those of timeouts take their time.
    for (const [name, { state, outcome }] of Object.entries(CASES)) {
      if (state === "retrying" && outcome !== "timeout") await ward.line(/lane\.(?:closed|slowed)/, name);
    }
    assert.equal(await ward.metric("fairlead_deliveries", { destination: "hangs", state: "waiting" }), 51);
    const grown = residentBytes(ward.daemon.process.pid) - memoryAtFirst;
    // Whoever keeps what is offered, or unpacks it, needs 100 MB for each of the 50.
    assert.ok(grown < sick.MB_100, `the daemon's memory has grown by ${grown} bytes`);
    assert.doesNotMatch(ward.daemon.process.err.join("\n"), /daemon\.unexpected/);
  });
});

describe("a receiver's five seconds (SPEC.md 8)", () => {
  it(
    "are five seconds: for its headers until it counts as a timeout, for its body until it is left",
    PATIENT,
    async () => {
      await using well = await startReceiver(sick.isWell);
      await using hangs = await startReceiver(sick.hangs);
      await using headers = await startReceiver(sick.dripsItsHeaders);
      await using body = await startReceiver(sick.dripsItsBody);
      await using ward = await startWard({ receivers: { well, hangs, headers, body } });
      await ward.delivered("well", 1);
      await ward.delivered("body", 1);
      for (const destination of ["hangs", "headers"]) {
        const { time, reason } = await ward.line(/attempt\.failed/, destination);
        assert.equal(reason, "no answer within 5s");
        assertFiveSeconds(Date.parse(time) - ward.calledAt);
      }
      const [socket] = body.sockets;
      assert.ok(socket);
      await closed(socket);
      assertFiveSeconds(Date.now() - ward.calledAt);
    },
  );
});

function spoken(name: string): string {
  return name.replaceAll("-", " ");
}

/** With a few for a machine that is busy. */
function assertFiveSeconds(ms: number): void {
  assert.ok(ms > 4_900 && ms < 8_000, `it took ${ms} ms`);
}
