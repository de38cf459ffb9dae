import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "../../src/model/event.ts";
import type { Caller } from "../../src/validate/context.ts";
import { eventOf, makeCaller } from "./make.ts";

const FILLED = { ip: "203.0.113.77", userAgent: "agent/1.0" };

function contextOf(call: object, caller: Partial<Caller> = {}): JsonObject | undefined {
  return eventOf({ userId: "u1", event: "E", ...call }, { type: "track", caller: makeCaller(caller) }).context;
}

const byLibrary = (name: string): object => ({ context: { library: { name } } });

describe("the context of a call from a person's own device", () => {
  it("gets the address and the user agent of the connection", () => {
    assert.deepEqual(contextOf({}, { isPage: true }), FILLED);
    assert.deepEqual(contextOf({ context: { a: 1 } }, { isPage: true }), { a: 1, ...FILLED });
  });

  it("keeps what it says itself", () => {
    const own = { ip: "198.51.100.1", userAgent: "own" };
    assert.deepEqual(contextOf({ context: own }, { isPage: true }), own);
    assert.deepEqual(contextOf({ context: { ip: "198.51.100.1" } }, { isPage: true }), {
      ...own,
      userAgent: "agent/1.0",
    });
  });

  it("gets them for null, which is the same as leaving them out", () => {
    assert.deepEqual(contextOf({ context: { ip: null, userAgent: null } }, { isPage: true }), FILLED);
  });

  it("gets only what is known", () => {
    const caller = { isPage: true, address: () => null, userAgent: () => null };
    assert.deepEqual(contextOf({ context: { a: 1 } }, caller), { a: 1 });
  });
});

describe("a call comes from a person's own device", () => {
  it("if it says so, whatever its source is", () => {
    for (const type of ["auto", "server"] as const) {
      assert.deepEqual(contextOf({ context: { direct: true } }, { type }), { direct: true, ...FILLED });
    }
    assert.deepEqual(contextOf({ context: { direct: "yes" } }), { direct: "yes" });
  });

  it("if its source is of type web or mobile, and never if it is of type server", () => {
    for (const type of ["web", "mobile"] as const) assert.deepEqual(contextOf({}, { type }), FILLED);
    assert.equal(contextOf({}, { type: "server", isPage: true }), undefined);
  });

  it("if its channel is one of theirs", () => {
    for (const channel of ["browser", "client", "web", "mobile"]) assert.deepEqual(contextOf({ channel }), FILLED);
    assert.equal(contextOf({ channel: "server" }), undefined);
    assert.deepEqual(contextOf({ channel: "server", ...byLibrary("analytics.js") }), {
      library: { name: "analytics.js" },
    });
  });

  for (const name of [
    ...["analytics.js", "RudderLabs JavaScript SDK", "analytics-android", "analytics-ios", "analytics-swift"],
    ...["analytics-kotlin", "@segment/analytics-react-native", "analytics_flutter", "rudder-ios-library"],
    ...["com.rudderstack.android.sdk.core", "Analytics.Xamarin"],
  ]) {
    it(`if its library is ${name}`, () => {
      assert.deepEqual(contextOf(byLibrary(name)), { library: { name }, ...FILLED });
    });
  }

  for (const name of ["analytics-go", "@segment/analytics-node", "analytics-python", "analytics-ruby", "curios", ""]) {
    it(`not if its library is ${JSON.stringify(name)}`, () => {
      assert.deepEqual(contextOf(byLibrary(name)), { library: { name } });
    });
  }

  it("not if nothing says so", () => {
    assert.equal(contextOf({}), undefined);
    assert.deepEqual(contextOf({ context: { library: "analytics.js" } }), { library: "analytics.js" });
  });
});

describe("the address of a source that must not pass it on", () => {
  it("loses its last octet, or its last 80 bits", () => {
    const truncate = { ip: "truncate" } as const;
    assert.deepEqual(contextOf({}, { ...truncate, isPage: true }), { ...FILLED, ip: "203.0.113.0" });
    assert.deepEqual(contextOf({ context: { ip: "2001:db8:1:2:3:4:5:6" } }, truncate), { ip: "2001:db8:1::" });
    assert.deepEqual(contextOf({ context: { ip: "::ffff:203.0.113.7" } }, truncate), { ip: "203.0.113.0" });
  });

  it("is removed, also where the client wrote it", () => {
    assert.deepEqual(contextOf({}, { ip: "drop", isPage: true }), { userAgent: "agent/1.0" });
    assert.deepEqual(contextOf({ context: { ip: "203.0.113.7", a: 1 } }, { ip: "drop" }), { a: 1 });
  });

  it("is removed, too, if it cannot be truncated", () => {
    for (const ip of ["nowhere", 7, {}, "1"]) {
      assert.deepEqual(contextOf({ context: { ip, a: 1 } }, { ip: "truncate" }), { a: 1 });
    }
  });

  it("is left where it may be kept, whatever it is", () => {
    assert.deepEqual(contextOf({ context: { ip: "nowhere" } }), { ip: "nowhere" });
  });
});
