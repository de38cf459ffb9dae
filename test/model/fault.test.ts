import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FAULT_STATUS, fault, isFault } from "../../src/model/fault.ts";

describe("a fault", () => {
  it("has no wait unless it is given one", () => {
    assert.deepEqual(fault("invalid_json", "no"), { code: "invalid_json", message: "no" });
    assert.deepEqual(fault("store_full", "full", 0), { code: "store_full", message: "full", retryAfter: 0 });
  });

  it("is told from any other value by its code", () => {
    assert.ok(isFault(fault("internal", "oh")));
    for (const value of [{}, [], { code: 400 }, { code: "toString" }, { code: "unheard_of" }, new Uint8Array()]) {
      assert.equal(isFault(value), false, JSON.stringify(value));
    }
  });

  it("has a status that clients understand: 4xx is final but for 408 and 429, 5xx is tried again", () => {
    const retried = Object.entries(FAULT_STATUS).filter(([, status]) => status >= 500 || [408, 429].includes(status));
    assert.deepEqual(Object.fromEntries(retried), {
      ...{ body_too_slow: 408, too_many_bodies: 429, too_many_watchers: 429, overloaded: 429 },
      ...{ rate_limited: 429, source_full: 429 },
      ...{ internal: 500, store_full: 503, store_failed: 503, outbox_gone: 503, stopping: 503 },
    });
    assert.deepEqual(
      Object.values(FAULT_STATUS).filter((status) => status < 400),
      [],
    );
  });
});
