import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "../../src/model/event.ts";
import { startIngest, type TestIngest } from "./make.ts";

const CALL = { anonymousId: "a1", event: "Mail Opened", properties: { plan: "pro", wanted: ">>>>>>?????ü." } };

/** Asks for an image, as a mail does: without any header. */
async function view(ingest: TestIngest, address: string): Promise<void> {
  const { status, headers, text } = await ingest.ask(address, "", { method: "GET", headers: { authorization: null } });
  assert.deepEqual([status, headers.get("content-type")], [200, "image/gif"]);
  assert.equal(headers.get("cache-control"), "no-store");
  assert.ok(text.startsWith("GIF89a"));
}

/** The one call that came of an address. */
async function callOf(address: string) {
  const ingest = startIngest();
  await view(ingest, address);
  const [taken] = ingest.accepted;
  const [event] = taken?.events ?? [];
  if (!event) return assert.fail(`refused: ${ingest.refused[0]?.fault.message}`);
  return event;
}

async function refusalOf(address: string): Promise<string> {
  const ingest = startIngest();
  await view(ingest, address);
  assert.deepEqual(ingest.accepted, []);
  return ingest.refused[0]?.fault.code ?? assert.fail("nothing was refused");
}

const encoded = (call: object): string => Buffer.from(JSON.stringify(call)).toString("base64");

describe("a pixel with its call in base64", () => {
  const plain = encoded({ ...CALL, writeKey: "website-key" });
  const spellings: Readonly<Record<string, string>> = {
    "escaped, as it should be": encodeURIComponent(plain),
    "with its padding left out": encodeURIComponent(plain.replace(/=+$/, "")),
    "in the alphabet for addresses": plain.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, ""),
    "in the alphabet for addresses, padded": plain.replaceAll("+", "-").replaceAll("/", "_"),
    "not escaped, so that each plus has become a space": plain,
  };

  it("needs all of the alphabet to show anything", () => {
    assert.match(plain, /\+/);
    assert.match(plain, /\//);
    assert.match(plain, /=$/);
  });

  for (const [spelling, data] of Object.entries(spellings)) {
    it(`is taken ${spelling}`, async () => {
      const { type, anonymousId, event, properties } = await callOf(`/v1/pixel/track?data=${data}`);
      assert.deepEqual({ anonymousId, event, properties }, CALL);
      assert.equal(type, "track");
    });
  }

  it("may have its write key beside it", async () => {
    const { event } = await callOf(`/v1/pixel/track?data=${encodeURIComponent(encoded(CALL))}&writeKey=website-key`);
    assert.equal(event, "Mail Opened");
  });

  it("is an image even if it is refused, and the reason is reported to the operator", async () => {
    assert.equal(await refusalOf("/v1/pixel/track?writeKey=website-key&data=%00%ff"), "invalid_encoding");
    assert.equal(await refusalOf("/v1/pixel/track?writeKey=website-key&data=e30"), "missing_event");
    assert.equal(await refusalOf("/v1/pixel/track?writeKey=website-key&data=e3"), "invalid_json");
    assert.equal(await refusalOf(`/v1/pixel/track?writeKey=website-key&data=${btoa("[1]")}`), "invalid_call");
    assert.equal(await refusalOf(`/v1/pixel/track?data=${btoa("{}")}`), "missing_write_key");
    const endless = btoa('{"userId":"u","event":"E","properties":{"a":1e999}}');
    assert.equal(await refusalOf(`/v1/pixel/track?writeKey=website-key&data=${endless}`), "number_out_of_range");
  });
});

describe("a pixel whose query is the call", () => {
  const KEYS = "writeKey=website-key&userId=u1&event=E";

  it("puts dotted keys where they belong", async () => {
    const event = await callOf(
      `/v1/pixel/track?${KEYS}&properties.plan=pro&properties.a.b=1&context.page.title=T%20t&messageId=m1`,
    );
    assert.deepEqual(event.properties, { plan: "pro", a: { b: "1" } });
    assert.deepEqual(event.context?.page, { title: "T t" });
    assert.equal(event.messageId, "m1");
  });

  it("knows true and false where they decide something, and nowhere else", async () => {
    const { integrations, properties } = await callOf(
      `/v1/pixel/track?${KEYS}&integrations.All=false&integrations.crm=true&properties.ok=true`,
    );
    assert.deepEqual(integrations, { All: false, crm: true });
    assert.deepEqual(properties, { ok: "true" });
  });

  it("is data, whatever it says: a code of ours, or a message", async () => {
    const event = await callOf(`/v1/pixel/track?${KEYS}&code=internal&message.a=1`);
    assert.equal(event.event, "E");
    assert.equal(await refusalOf("/v1/pixel/track?code=not_found"), "missing_write_key");
    const data = btoa(JSON.stringify({ code: "not_found", message: {}, userId: "u1", event: "E" }));
    assert.equal((await callOf(`/v1/pixel/track?writeKey=website-key&data=${data}`)).event, "E");
  });

  it("keeps a key named __proto__ as data", async () => {
    const { properties } = await callOf(`/v1/pixel/track?${KEYS}&properties.__proto__.x=1&properties.constructor=2`);
    assert.equal(JSON.stringify(properties), '{"__proto__":{"x":"1"},"constructor":"2"}');
    assert.equal(({} as JsonObject).x, undefined);
  });

  it("takes the last of a key that comes twice, and refuses one that is both a value and an object", async () => {
    assert.equal((await callOf(`/v1/pixel/track?${KEYS}&event=F`)).event, "F");
    assert.equal(await refusalOf(`/v1/pixel/track?${KEYS}&properties.a=1&properties.a.b=1`), "invalid_call");
    assert.equal(await refusalOf(`/v1/pixel/track?${KEYS}&properties.a.b=1&properties.a=1`), "invalid_call");
  });

  it("is refused if it nests too deeply", async () => {
    assert.equal(await refusalOf(`/v1/pixel/track?${KEYS}&properties${".a".repeat(3_000)}=1`), "too_deep");
  });
});

describe("the paths of pixels", () => {
  it("are there for each type, and for RudderStack's track and page", async () => {
    const query = "writeKey=website-key&userId=u1&event=E&groupId=g1&previousId=p1";
    for (const type of ["identify", "track", "page", "screen", "group", "alias"]) {
      assert.equal((await callOf(`/v1/pixel/${type}?${query}`)).type, type);
      assert.equal((await callOf(`/v1/pixel/${type}/?${query}`)).type, type);
    }
    for (const type of ["track", "page"]) assert.equal((await callOf(`/pixel/v1/${type}?${query}`)).type, type);
  });

  it("answer an image to whatever is asked of them, and take calls by GET alone", async () => {
    const ingest = startIngest();
    for (const method of ["HEAD", "POST", "PUT"]) {
      const { status, headers } = await ingest.ask("/v1/pixel/track?writeKey=website-key&userId=u", "", { method });
      assert.deepEqual([status, headers.get("content-type")], [200, "image/gif"]);
    }
    assert.deepEqual(ingest.accepted, []);
    assert.deepEqual(
      ingest.refused.map(({ fault }) => fault.code),
      ["method_not_allowed", "method_not_allowed"],
    );
  });

  it("answer an image to a page that may not send", async () => {
    const ingest = startIngest({ corsOrigins: [] });
    const { headers } = await ingest.ask("/v1/pixel/track?writeKey=website-key", "", {
      method: "GET",
      headers: { origin: "https://evil.example" },
    });
    assert.equal(headers.get("content-type"), "image/gif");
    assert.equal(ingest.refused[0]?.fault.code, "forbidden_origin");
  });

  it("answer an image when something breaks", async () => {
    const broken: unknown[] = [];
    const error = new Error("broken");
    const accept = (): never => {
      throw error;
    };
    const ingest = startIngest({ accept, unexpected: (_, error) => void broken.push(error) });
    await view(ingest, "/v1/pixel/track?writeKey=website-key&userId=u&event=E");
    assert.deepEqual(broken, [error]);
  });
});
