// What the client library is answered, by a daemon or by whatever stands in its place.
import assert from "node:assert/strict";
import fc from "fast-check";
import { judge, readAnswer, readRejections } from "../../src/client/judge.ts";
import type { FetchResponse } from "../../src/client/platform.ts";
import { readBody } from "../../src/client/post.ts";
import { fuzz } from "./fuzz.ts";
import { fuzzTime } from "./slow.ts";
import { anyCuts, cut, type Text, textLike, written } from "./text.ts";

type Input = { readonly text: Text; readonly raw: boolean; readonly status: number; readonly cuts: readonly number[] };

const BATCH = ["m0", "m1", "__proto__", ""].map((messageId) => ({ messageId }) as never);

const likeness = {
  seeds: [
    '{"success":true,"accepted":1,"duplicate":1,"rejected":[{"index":1,"messageId":"m1","code":"c","message":"m"}]}',
    '{"success":true,"accepted":-1,"duplicate":1e999,"rejected":[{"index":-1},{"index":0.5,"messageId":"m0"},null,5]}',
    '{"success":false,"code":"unknown_write_key","message":"no","error":"no"}',
    "<html><title>502 Bad Gateway</title></html>",
  ],
  pieces: [
    '{"success":',
    "true",
    "false",
    '"accepted":',
    '"rejected":[',
    '{"index":',
    '"messageId":',
    '"m1"',
    ",",
    "}",
    "]",
  ],
};

fuzz<Input>({
  name: "answer",
  input: fc.record({
    ...{ text: textLike(likeness), raw: fc.boolean(), cuts: anyCuts },
    status: fc.constantFrom(200, 201, 204, 302, 400, 401, 429, 500, 503, 599, 0, 999),
  }),
  runs: 600,
  start: () => ({ holds }),
});

fuzzTime({
  ...likeness,
  name: "answer",
  harmless: '{"index":0,"code":"x"},',
  run: (text) => readRejections(readAnswer(text).rejected, BATCH),
});

async function holds({ text, raw, status, cuts }: Input): Promise<void> {
  const bytes = Buffer.from(written(text), raw ? "latin1" : "utf8");
  const body = await readBody(responseOf(new Uint8Array(bytes), { status, cuts }));
  assert.equal(body, new TextDecoder().decode(bytes));
  const said = readAnswer(body);
  for (const count of [said.accepted ?? 0, said.duplicates])
    assert.ok(Number.isSafeInteger(count) && count >= 0, `${count} calls`);
  for (const word of [said.code, said.message]) assert.ok(word === null || word !== "");
  const { of, unknown } = readRejections(said.rejected, BATCH);
  assert.ok(of.size + unknown <= said.rejected.length);
  for (const [call, { code, message }] of of) {
    assert.ok(BATCH.includes(call) && code !== "" && message !== "");
  }
  const tried = { retried: 0, retries: 10, waits: 3, askedMs: 0, fraction: 0, now: 0 };
  const verdict = judge({ kind: "answered", status, statusText: "", retryAfter: null, body }, tried);
  // A 2xx that does not say so is somebody else's.
  if (verdict.kind === "taken") assert.ok(said.success === true && status >= 200 && status < 300);
}

function responseOf(bytes: Uint8Array, { status, cuts }: Pick<Input, "status" | "cuts">): FetchResponse {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of cut(bytes, cuts)) controller.enqueue(piece);
      controller.close();
    },
  });
  return { status, headers: new Headers(), body, text: async () => "" } as unknown as FetchResponse;
}
