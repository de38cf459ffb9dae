// Our row of the table in docs/send/fairlead-failures.md: what a server that fails can make the library lose or repeat.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createClient } from "../../src/client/client.ts";
import { readOptions } from "../../src/client/options.ts";
import { type Fetch, platform } from "../../src/client/platform.ts";
import { fixture } from "../runtime/tls.ts";
import { CALLS, FAULTS, type Fault, startChaos, summarise } from "./chaos.ts";
import { readChaosTable } from "./chaos-table.ts";

/** Timers go off so much earlier: five minutes pass in three seconds. */
const FASTER = 100;
/** A minute, in which any machine gets an answer through. */
const TIMEOUT_MS = 6_000_000;
/** Four seconds, where one has to pass. */
const SILENT_TIMEOUT_MS = 400_000;
/** A wait that is longer than that is not waited for. */
const DEADLINE_MS = 25_000;

const isBun = typeof Bun !== "undefined";
/** Only Bun's fetch can be told whom to trust. */
const trusting: Fetch = (url, init) => fetch(url, { ...init, tls: { ca: fixture("ca.crt") } } as RequestInit);

async function run(fault: Fault): Promise<string> {
  const chaos = await startChaos(fault, FASTER);
  const delivered: string[] = [];
  const lost: string[] = [];
  const settings = readOptions("website-key", {
    endpoint: chaos.url,
    timeout: fault.silent ? SILENT_TIMEOUT_MS : TIMEOUT_MS,
    onDelivered: ({ event = "" }) => delivered.push(event),
    onError: ({ call: { event = "" } }) => lost.push(event),
    ...(fault.tls && { fetch: trusting }),
  });
  const after = (ms: number, act: () => void) => platform.after(ms / FASTER, act);
  const client = createClient(settings, { ...platform, after });
  for (let nth = 0; nth < CALLS; nth += 1) {
    void client.call("track", { userId: "u", event: String(nth), messageId: String(nth) });
  }
  const { undelivered } = await client.close(fault.endless ? DEADLINE_MS : Infinity);
  const returned = undelivered.map(({ event = "" }) => event);
  chaos.close();
  assert.equal(delivered.length + lost.length + returned.length, CALLS);
  return summarise(chaos, { delivered, lost, returned });
}

describe("the library and a server that fails", () => {
  it("loses, repeats and reports what docs/send/fairlead-failures.md shows", { timeout: 60_000 }, async () => {
    const faults = FAULTS.filter(({ tls }) => isBun || !tls);
    const documented = readChaosTable();
    const outcomes = await Promise.all(faults.map(async (fault) => [fault.name, await run(fault)]));
    assert.deepEqual(
      outcomes,
      faults.map(({ name }) => [name, documented.get(name)?.[0]]),
    );
  });
});
