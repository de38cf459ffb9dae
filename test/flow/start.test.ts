import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { OpenStore } from "../../src/model/ports.ts";
import { startDaemon } from "./daemon.ts";
import { openStore } from "./outbox.ts";

describe("a daemon that cannot start", () => {
  it("closes its store", async () => {
    let isClosed = false;
    const openBroken: OpenStore = async (options) => {
      const store = await openStore(options);
      return {
        ...store,
        backlog: { ...store.backlog, counts: () => Promise.reject(new Error("disk I/O error")) },
        async close() {
          await store.close();
          isClosed = true;
        },
      };
    };
    await assert.rejects(startDaemon({ openStore: openBroken }), /^Error: disk I\/O error$/);
    assert.equal(isClosed, true);
  });
});
