import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createIsUnresolved } from "../../src/runtime/post-reply.ts";

function failure(code: string): Promise<never> {
  return Promise.reject(Object.assign(new Error(code), { code }));
}

describe("a name that a POST waited for", () => {
  it("is unresolved while no name server answers", async () => {
    assert.equal(await createIsUnresolved(() => new Promise(() => {}), 1)("crm.example.com"), true);
    assert.equal(await createIsUnresolved(() => failure("EAI_AGAIN"))("crm.example.com"), true);
  });

  it("is not once there is an answer, whatever it says", async () => {
    assert.equal(await createIsUnresolved(async () => ["192.0.2.1"])("crm.example.com"), false);
    assert.equal(await createIsUnresolved(() => failure("ENOTFOUND"))("crm.example.com"), false);
  });

  it("is not where each answer takes a while, as over a satellite: a receiver that hangs is to be told from that", async () => {
    // The shorter of two timers ends first, however busy the machine is.
    assert.equal(await createIsUnresolved(() => sleep(500))("crm.example.com"), false);
  });

  it("is asked for once, however many wait for it, and anew the next time", async () => {
    let asked = 0;
    const isUnresolved = createIsUnresolved(async () => {
      asked += 1;
    });
    await Promise.all([isUnresolved("a.example.com"), isUnresolved("a.example.com")]);
    assert.equal(asked, 1);
    await isUnresolved("a.example.com");
    assert.equal(asked, 2);
  });

  it("is not asked for where the URL has an address", async () => {
    const isUnresolved = createIsUnresolved(() => assert.fail());
    for (const address of ["127.0.0.1", "[::1]"]) assert.equal(await isUnresolved(address), false);
  });
});
