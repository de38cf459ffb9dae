import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fault, StoreAway } from "../../src/model/fault.ts";
import type { OpenStore, Store } from "../../src/model/ports.ts";
import { Secret } from "../../src/model/secret.ts";
import { type DaemonOptions, startDaemon } from "./daemon.ts";
import { makeDestination, makeSource, URL_B } from "./make.ts";
import { openStore } from "./outbox.ts";

const TRACK = { userId: "u1", event: "Signed Up", messageId: "m1" };
const FAILED = fault("store_failed", "the outbox cannot be written");

/** A daemon whose store can be away, as one on PostgreSQL: reads reject then, and writes answer a fault. */
async function startAwayable(options: DaemonOptions = {}) {
  let isAway = false;
  const open: OpenStore = async (its) => {
    const store = await openStore(its);
    return { ...store, ...fragile(store), backlog: rejecting(store.backlog), deletions: fragileDeletions(store) };
  };
  const daemon = await startDaemon({ ...options, openStore: open });
  return {
    daemon,
    leave() {
      isAway = true;
    },
    comeBack() {
      isAway = false;
    },
    [Symbol.asyncDispose]: () => daemon.stop(),
  };

  function fragile({ readQueue, append, settle, prune, withdraw }: Store) {
    return { ...rejecting({ readQueue }), ...failing({ append, settle, prune, withdraw }) };
  }

  function fragileDeletions({ deletions }: Store): Store["deletions"] {
    const { unfinished, people, unnoticed, ...others } = deletions;
    return { ...others, ...rejecting({ unfinished, people, unnoticed }) };
  }

  function rejecting<T extends object>(port: T): T {
    return guarded(port, () => Promise.reject(new StoreAway("connection refused")));
  }

  function failing<T extends object>(port: T): T {
    return guarded(port, async () => FAILED);
  }

  function guarded<T extends object>(port: T, answer: () => Promise<unknown>): T {
    const all = Object.entries(port).map(([name, run]) => {
      return [name, (...args: unknown[]) => (isAway ? answer() : run(...args))];
    });
    return Object.fromEntries(all) as T;
  }
}

describe("a daemon whose store is away", () => {
  it("goes on with a deletion within seconds once it is back, and calls nothing unexpected", async () => {
    await using d = await startAwayable();
    const { json } = await d.daemon.admin("POST", "/api/deletions", { body: { userIds: ["u1"] } });
    d.leave();
    await d.daemon.clock.advance("20s");
    d.comeBack();
    assert.ok(d.daemon.told.some(({ what, args }) => what === "storeFailed" && args[0] === "delete users"));
    await d.daemon.clock.advance("6s");
    const { json: receipt } = await d.daemon.admin("GET", `/api/deletions/${String(json.id)}`);
    assert.equal(receipt.status, "finished");
  });

  it("refuses a reload whole, and reloads once it is back", async () => {
    await using d = await startAwayable();
    const { app, config } = d.daemon;
    const sources = [makeSource({ writeKey: new Secret("another") })];
    const next = { ...config, sources, destinations: [makeDestination({ urls: [URL_B] })] };
    d.leave();
    await assert.rejects(app.reload(next), StoreAway);
    d.comeBack();
    assert.equal((await d.daemon.call("/v1/track", TRACK)).status, 200);
    await app.reload(next);
    assert.equal((await d.daemon.call("/v1/track", TRACK)).status, 401);
  });
});
