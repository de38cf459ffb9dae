import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { type Answer, doorForAll, headOf } from "./bad-input-door.ts";
import { residentBytes } from "./resident.ts";
import { PATIENT } from "./waiting.ts";

const TRACK = { type: "track", userId: "u1", event: "E" };
const CALL = JSON.stringify(TRACK);
const MB_100 = 100_000_000;

const door = doorForAll();

/** The body of the webhook of that messageId. */
async function deliveredBody(messageId: string): Promise<string> {
  await door().receiver.all([messageId]);
  return door().receiver.hooks.find((hook) => hook.messageId === messageId)?.body ?? "";
}

async function codeOf(answering: Promise<Answer>): Promise<string> {
  const { status, code } = await answering;
  return `${status} ${code}`;
}

describe("a body that is no call is refused with a code", () => {
  const bodies: Readonly<Record<string, readonly (string | Uint8Array)[]>> = {
    "400 invalid_json": [
      "",
      " ",
      "{",
      "}",
      '{"userId":"u1",}',
      "{'userId':1}",
      "NaN",
      "\0",
      "userId=u1&event=E",
      "{}{}",
    ],
    "400 invalid_call": ["null", "[]", "[{}]", '"track"', "7", "true"],
    "400 invalid_encoding": [
      Uint8Array.of(0xff),
      Uint8Array.of(0x22, 0xc3, 0x22),
      Uint8Array.of(0x22, 0xed, 0xa0, 0x80, 0x22),
    ],
    "400 missing_event": ['{"userId":"u1"}', '{"userId":"u1","event":""}', '{"userId":"u1","event":null}'],
    "400 missing_id": ['{"event":"E"}', '{"event":"E","userId":""}', '{"event":"E","userId":null,"anonymousId":""}'],
    "400 message_id_too_long": [JSON.stringify({ ...TRACK, messageId: "m".repeat(100) })],
    "400 invalid_timestamp": [JSON.stringify({ ...TRACK, timestamp: "yesterday" })],
    "400 call_too_large": [JSON.stringify({ ...TRACK, userId: "u".repeat(40_000) })],
    "400 number_out_of_range": [
      `{"userId":"u1","event":"E","properties":{"a":1e999}}`,
      `{"userId":"u1","event":"E","properties":{"a":-${"9".repeat(400)}}}`,
    ],
  };
  for (const [answer, all] of Object.entries(bodies)) {
    it(answer, PATIENT, async () => {
      for (const body of all)
        assert.equal(await codeOf(door().post("/v1/track", body)), answer, String(body).slice(0, 100));
    });
  }

  it("400 invalid_request, where it should be a batch", PATIENT, async () => {
    for (const body of ["null", "[]", '"batch"', "{}", '{"batch":{}}', '{"batch":"[]"}']) {
      assert.equal(await codeOf(door().post("/v1/batch", body)), "400 invalid_request", body);
    }
  });

  it("400 missing_group_id and missing_previous_id, where the type needs them", PATIENT, async () => {
    assert.equal(await codeOf(door().post("/v1/group", CALL)), "400 missing_group_id");
    assert.equal(await codeOf(door().post("/v1/alias", CALL)), "400 missing_previous_id");
    assert.equal(await codeOf(door().post("/v1/alias", '{"previousId":"p1"}')), "400 missing_id");
  });

  it("401, without a write key that is known", PATIENT, async () => {
    const keys = { "": "missing", "Basic ": "missing", "Basic !!!": "missing", "Basic bm9ib2R5Og==": "unknown" };
    for (const [Authorization, which] of Object.entries(keys)) {
      assert.equal(await codeOf(door().post("/v1/track", CALL, { Authorization })), `401 ${which}_write_key`);
    }
  });
});

describe("a field of the wrong type", () => {
  const kinds = { boolean: true, number: 7, string: "x", array: [1], object: {} };
  const texts = ["type", "event", "name", "category", "channel", "timestamp", "originalTimestamp", "sentAt"];
  const wrong = [
    ...wrongOnes(texts, ["boolean", "number", "array", "object"]),
    ...wrongOnes(["messageId", "userId", "anonymousId", "previousId", "groupId"], ["boolean", "array", "object"]),
    ...wrongOnes(["properties", "traits", "context", "integrations"], ["boolean", "number", "string", "array"]),
  ];

  function wrongOnes(fields: readonly string[], wrongKinds: readonly (keyof typeof kinds)[]) {
    return fields.flatMap((field) => wrongKinds.map((kind) => ({ field, call: { ...TRACK, [field]: kinds[kind] } })));
  }

  it("is refused by its name, whichever it is, and whatever it is instead", PATIENT, async () => {
    for (const { field, call } of wrong) {
      const answer = await door().post("/v1/track", JSON.stringify(call));
      assert.partialDeepStrictEqual(answer, { status: 400, code: "invalid_call" });
      assert.match(JSON.stringify(answer), new RegExp(`"message":"${field} must be `));
    }
  });

  it("costs only its own call in a batch", PATIENT, async () => {
    const batch = [...wrong.map(({ call }) => call), TRACK];
    const { status, accepted, rejected = [] } = await door().post("/v1/batch", JSON.stringify({ batch }));
    assert.deepEqual([status, accepted, rejected.length], [200, 1, wrong.length]);
    for (const [index, one] of rejected.entries()) {
      assert.partialDeepStrictEqual(one, { index, code: "invalid_call" });
      assert.ok(one.message.startsWith(`${wrong[index]?.field} must be `), one.message);
    }
  });
});

describe("the limits of SPEC.md 8", () => {
  /** A call of exactly so many bytes. */
  function callOf(bytes: number, messageId: string): object {
    const call = { ...TRACK, messageId, properties: { text: "" } };
    return { ...call, properties: { text: "x".repeat(bytes - JSON.stringify(call).length) } };
  }

  it("let a call of 32 KB through, and none of a byte more", PATIENT, async () => {
    assert.equal((await door().post("/v1/track", JSON.stringify(callOf(32_768, "m-32k")))).accepted, 1);
    assert.match(await deliveredBody("m-32k"), /"text":"x{32000}/);
    assert.equal(await codeOf(door().post("/v1/track", JSON.stringify(callOf(32_769, "m")))), "400 call_too_large");
  });

  it("hold for a call with all that its envelope adds", PATIENT, async () => {
    const added = ',"context":{"library":"go"},"integrations":{"All":true}'.length;
    const envelope = { context: { library: "go" }, integrations: { All: true } };
    const batch = [callOf(32_768 - added, "m-merged"), callOf(32_769 - added, "m-over")];
    const { accepted, rejected } = await door().post("/v1/batch", JSON.stringify({ batch, ...envelope }));
    assert.equal(accepted, 1);
    assert.partialDeepStrictEqual(rejected, [{ index: 1, messageId: "m-over", code: "call_too_large" }]);
    assert.match(await deliveredBody("m-merged"), /"context":{"library":"go"}/);
  });

  const padded = (bytes: number): string => `{"batch":[${CALL}],"x":"${"x".repeat(bytes - CALL.length - 19)}"}`;

  for (const [how, send] of [
    ["announced", (body: string) => door().post("/v1/batch", body)],
    ["compressed", (body: string) => door().post("/v1/batch", gzipSync(body), { "Content-Encoding": "gzip" })],
  ] as const) {
    it(`let a batch of 500 KB through, and none of a byte more, ${how}`, PATIENT, async () => {
      assert.equal(Buffer.byteLength(padded(512_000)), 512_000);
      assert.partialDeepStrictEqual(await send(padded(512_000)), { status: 200, accepted: 1 });
      assert.equal(await codeOf(send(padded(512_001))), "400 body_too_large");
    });
  }

  it("hold for a body in chunks, as soon as it has come too far", PATIENT, async () => {
    const { socket, until } = await door().open(headOf("POST /v1/batch HTTP/1.1", "Transfer-Encoding: chunked"));
    socket.write(`7d001\r\n${"x".repeat(512_001)}\r\n`);
    await until(/^HTTP\/1\.1 400 .*"code":"body_too_large"/s);
    socket.destroy();
  });

  it("hold for what comes out of gzip, and broken gzip is refused", PATIENT, async () => {
    const headers = { "Content-Encoding": "gzip" };
    const before = residentBytes(door().daemon.process.pid);
    for (const bytes of [gzipSync(Buffer.alloc(MB_100)), gzipSync(gzipSync(Buffer.alloc(MB_100)))]) {
      const answer = await codeOf(door().post("/v1/batch", bytes, headers));
      assert.match(answer, /^400 (body_too_large|invalid_encoding)$/);
    }
    const grown = residentBytes(door().daemon.process.pid) - before;
    assert.ok(grown < MB_100 / 2, `the daemon's memory has grown by ${grown} bytes`);
    for (const bytes of [Buffer.from(CALL), gzipSync(CALL).subarray(0, -9), new Uint8Array()]) {
      assert.equal(await codeOf(door().post("/v1/track", bytes, headers)), "400 invalid_encoding");
    }
    assert.equal(
      await codeOf(door().post("/v1/track", CALL, { "Content-Encoding": "br" })),
      "415 unsupported_media_type",
    );
  });
});

describe("what JSON allows, and programs stumble over,", () => {
  async function sentAndDelivered(messageId: string, properties: string): Promise<string> {
    const call = `{"userId":"u1","event":"E","messageId":"${messageId}","properties":${properties}}`;
    assert.partialDeepStrictEqual(await door().post("/v1/track", call), { status: 200, accepted: 1 });
    return /"properties":(.*),"timestamp"/s.exec(await deliveredBody(messageId))?.[1] ?? "";
  }

  const kept = {
    "keys with a meaning in JavaScript": '{"__proto__":{"x":1},"constructor":{"prototype":null},"toJSON":"t"}',
    "halves of surrogate pairs": '{"a":"\\ud800","\\udfff":"\\udc00\\ud800"}',
    "characters that end lines or strings elsewhere": '{"a":"\\u0000\\n\u2028</script>","":"\\u001b[31m"}',
    "numbers of up to 15 digits": '{"a":123456789012345,"b":0.1,"c":-1.5e-7,"d":9007199254740991}',
    "integers beyond 2^53":
      '{"a":12345678901234567890,"b":[9223372036854775807,-9007199254740993],"__proto__":{"c":18446744073709551615}}',
    "200 levels": `{"a":${"[".repeat(198)}${"]".repeat(198)}}`,
  };
  for (const [index, [what, properties]] of Object.entries(kept).entries()) {
    it(`comes to the receiver byte for byte: ${what}`, PATIENT, async () => {
      assert.equal(await sentAndDelivered(`kept-${index}`, properties), properties);
    });
  }

  it("comes as JavaScript writes it, where a double says the same (docs/reference/http-api.md)", PATIENT, async () => {
    const sent = '{"a":0.1234567890123456789,"b":1e20,"c":1.0,"d":-0,"e":1E2,"f":1e-400,"g":1,"g":2}';
    const comes = '{"a":0.12345678901234568,"b":100000000000000000000,"c":1,"d":0,"e":100,"f":0,"g":2}';
    assert.equal(await sentAndDelivered("numbers", sent), comes);
  });

  it(
    "comes as JavaScript writes it, in the order of its keys and in its escapes (docs/reference/http-api.md)",
    PATIENT,
    async () => {
      const comes = '{"1":2,"10":1,"b":"A/","a":[]}';
      assert.equal(await sentAndDelivered("writing", '{"b":"\\u0041\\/", "10":1, "1":2, "a":[ ]}'), comes);
    },
  );

  it("is an id with all of its digits, as a string", PATIENT, async () => {
    const call = '{"userId":12345678901234567890,"groupId":-9223372036854775808,"messageId":18446744073709551615}';
    assert.equal((await door().post("/v1/group", call)).accepted, 1);
    const { userId, groupId } = JSON.parse(await deliveredBody("18446744073709551615"));
    assert.deepEqual([userId, groupId], ["12345678901234567890", "-9223372036854775808"]);
  });

  it("is refused where it is an id that has lost digits already", PATIENT, async () => {
    const answer = await door().post("/v1/track", '{"userId":1.2345678901234567e19,"event":"E"}');
    assert.partialDeepStrictEqual(answer, { status: 400, code: "invalid_call" });
  });

  it("is refused at 100,000 levels, at once", PATIENT, async () => {
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    const startedAt = performance.now();
    for (let n = 0; n < 5; n += 1) {
      assert.equal(
        await codeOf(door().post("/v1/track", `{"userId":"u1","event":"E","properties":{"a":${deep}}}`)),
        "400 too_deep",
      );
    }
    const envelope = `{"context":{"a":${deep}},"batch":[${Array(1_000).fill(CALL).join()}]}`;
    assert.equal(await codeOf(door().post("/v1/batch", envelope)), "400 too_deep");
    assert.equal(await codeOf(door().post("/v1/track", "[".repeat(500_000))), "400 too_deep");
    // Each of the thousand calls took half a second once.
    assert.ok(performance.now() - startedAt < 10_000);
  });

  it("may be an id of 30,000 characters", PATIENT, async () => {
    const userId = "é".repeat(15_000);
    await door().post("/v1/track", JSON.stringify({ ...TRACK, userId, messageId: "huge-id" }));
    assert.equal(JSON.parse(await deliveredBody("huge-id")).userId, userId);
  });
});
