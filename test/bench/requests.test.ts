import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createRequest, EVENT_BYTES, IDS, type LoadRequest, WRITE_KEY, writeKeyOf } from "../../bench/requests.ts";

type Event = { readonly userId: string; readonly messageId?: string };

describe("a request of the load", () => {
  for (const ids of IDS) {
    it(`says its length, and holds events of ${EVENT_BYTES} bytes (messageIds: ${ids})`, () => {
      const [head, body] = split(createRequest({ ids, eventsPerRequest: 1 }));
      assert.match(head, /^POST \/v1\/track HTTP\/1\.1\r\n/);
      assert.match(head, new RegExp(`\\r\\nContent-Length: ${EVENT_BYTES}$`));
      assert.equal(body.length, EVENT_BYTES);
      assert.ok(JSON.parse(body));
    });
  }

  it("fits 2,500 small events into a batch that is not too large to be taken", () => {
    for (const ids of IDS) {
      const request = createRequest({ ids, eventsPerRequest: 2_500, small: true });
      assert.equal(renewed(request).length, 2_500);
      assert.ok(split(request)[1].length < 500_000);
    }
  });

  it("gives every event a user and a messageId of its own, each time", () => {
    const request = createRequest({ ids: "random", eventsPerRequest: 100 });
    const events = [
      ...renewed(request),
      ...renewed(request),
      ...renewed(createRequest({ ids: "random", eventsPerRequest: 100 })),
    ];
    assert.equal(new Set(events.map(({ userId }) => userId)).size, 300);
    assert.equal(new Set(events.map(({ messageId }) => messageId)).size, 300);
  });

  it("comes from one source, or each from the next of many, and stays as long", () => {
    const keysOf = (request: LoadRequest) =>
      [1, 2, 3].map(() => {
        request.renew();
        return atob(/^Authorization: Basic (.*)$/m.exec(split(request)[0])?.[1] ?? "");
      });
    const one = keysOf(createRequest({ ids: "none", eventsPerRequest: 1 }));
    assert.deepEqual(new Set(one), new Set([`${WRITE_KEY}:`]));
    const many = keysOf(createRequest({ ids: "none", eventsPerRequest: 1, sources: 3 }));
    assert.deepEqual(many.toSorted(), [0, 1, 2].map((nth) => `${writeKeyOf(nth)}:`).toSorted());
  });

  it("makes messageIds like those of the clients: a UUID, or the time before one", () => {
    const uuid = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}";
    const [random] = renewed(createRequest({ ids: "random", eventsPerRequest: 2 }));
    assert.match(random?.messageId ?? "", new RegExp(`^${uuid}$`));
    const before = Date.now();
    const [ordered] = renewed(createRequest({ ids: "ordered", eventsPerRequest: 2 }));
    const [, time] = new RegExp(`^node-next-(\\d{13})-${uuid}$`).exec(ordered?.messageId ?? "") ?? [];
    assert.ok(Number(time) >= before && Number(time) <= Date.now());
    const [none] = renewed(createRequest({ ids: "none", eventsPerRequest: 2 }));
    assert.equal(none?.messageId, undefined);
  });
});

function renewed(request: LoadRequest): readonly Event[] {
  request.renew();
  return JSON.parse(split(request)[1]).batch;
}

function split({ bytes }: LoadRequest): readonly [head: string, body: string] {
  const [head = "", body = ""] = bytes.toString().split("\r\n\r\n");
  return [head, body];
}
