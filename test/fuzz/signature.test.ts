// What comes to a receiver: any header, any body. Only what was signed is taken, and nothing makes it throw.
import assert from "node:assert/strict";
import fc from "fast-check";
import { compare } from "../../src/cli/verify.ts";
import { callKey, parseCall } from "../../src/client/receive/calls.ts";
import { readSignature, readWebhook, verifySignature } from "../../src/client/receive/receiver.ts";
import { sign } from "../../src/webhook/signature.ts";
import { fuzz } from "./fuzz.ts";
import { fuzzTime } from "./slow.ts";
import { anyCuts, cut, type Text, textLike, written } from "./text.ts";

type Input = {
  readonly text: Text;
  readonly raw: boolean;
  /** What stands in the header; null for the right signature, between these. */
  readonly header: Text | readonly [before: string, after: string] | null | 5;
  readonly length: string | null;
  readonly cuts: readonly number[];
};

const SECRET = "s3cret";
const TRACK =
  '{"version":1,"type":"track","userId":"u1","event":"e","properties":{},"timestamp":"2026-11-20T12:00:00.000Z","context":{},"messageId":"m1","receivedAt":"2026-11-20T12:00:00.000Z"}';

const BODY = Buffer.from(TRACK);

const bodies = {
  seeds: [
    TRACK,
    '{"type":"delete","userId":"u1","timestamp":"2026-11-20T12:00:00.000Z"}\n',
    '{"type":"track","version":1, "messageId":"__proto__","context":{"__proto__":{"polluted":true}}}',
    '{"type":"alias","Previous ID":"a","User ID":"b"}',
  ],
  pieces: [
    '{"type":"',
    'track","',
    "delete",
    '"version":1',
    '"userId":',
    "{",
    "}",
    "[",
    "]",
    ",",
    '"a"',
    '{"a":',
    "[".repeat(50),
  ],
};
const headers = {
  seeds: [
    "sha1=0123456789abcdef0123456789abcdef01234567",
    "X-Signature: 0123456789ABCDEF0123456789abcdef01234567",
    "t=1,v1=a",
  ],
  pieces: ["0", "f", "F", "sha1=", "x-signature:", "x-signature: ", " ", ","],
};

const anyInput: fc.Arbitrary<Input> = fc.record({
  text: textLike(bodies),
  raw: fc.boolean(),
  header: fc.oneof(
    { weight: 3, arbitrary: fc.constant(null) },
    {
      weight: 2,
      arbitrary: fc.tuple(fc.constantFrom("", " ", "sha1=", "X-Signature: "), fc.constantFrom("", "\n", " ", "0")),
    },
    { weight: 2, arbitrary: textLike(headers) },
    fc.constant(5 as const),
  ),
  length: fc.constantFrom(null, null, "0", "-1", "1e9", "abc", "99999999999999999999"),
  cuts: anyCuts,
});

fuzz<Input>({ name: "signature", input: anyInput, runs: 600, start: () => ({ holds }) });

// Of headers alone: `fairlead verify` may take seconds over a body, as nobody waits behind it.
fuzzTime({
  ...headers,
  name: "signature",
  harmless: "0123456789abcdef",
  run: (signature) => [readSignature(signature), compare({ body: BODY, signature, secret: SECRET })],
});

async function holds({ text, raw, header: given, length, cuts }: Input): Promise<void> {
  const body = Buffer.from(written(text), raw ? "latin1" : "utf8");
  const right = sign(body, SECRET);
  const header = headerOf(given, right);
  const isRight = header === right;
  assert.equal(verifySignature(body, header, [SECRET, "another"]), isRight);
  if (typeof header === "string") {
    const found = compare({
      body,
      signature: header,
      secret: SECRET,
      others: [{ from: "elsewhere", secret: "another" }],
    });
    assert.equal(found.valid, isRight);
  }
  const parsed = parseCall(body);
  if (parsed.kind === "call") assert.equal(typeof callKey(parsed.call), "string");
  else assert.ok(parsed.message.length < 200);
  const answer = await receive(body, { header, length, cuts });
  const isFormed = readSignature(header) !== null;
  assert.equal(answer, expected({ body, isFormed, isRight, isCall: parsed.kind === "call", length }));
}

type Sent = { readonly header: unknown; readonly length: string | null; readonly cuts: readonly number[] };

/** 200 if it is taken, else what is answered. */
async function receive(body: Buffer, { header, length, cuts }: Sent): Promise<number> {
  async function* chunks(): AsyncGenerator<Uint8Array> {
    yield* cut(new Uint8Array(body), cuts);
  }
  const incoming = {
    method: "POST",
    header: (name: string) => (name === "x-signature" ? header : length),
    body: chunks(),
  };
  const received = await readWebhook(incoming, { secrets: [SECRET], maxBytes: 40_000 });
  return received.kind === "call" ? 200 : received.answer.status;
}

type Known = {
  readonly body: Buffer;
  readonly isFormed: boolean;
  readonly isRight: boolean;
  readonly isCall: boolean;
  readonly length: string | null;
};

function expected({ body, isFormed, isRight, isCall, length }: Known): number {
  if (!isFormed) return 401;
  if (Number(length) > 40_000 || body.length > 40_000) return 413;
  if (body.length === 0) return 500;
  if (!isRight) return 401;
  return isCall ? 200 : 400;
}

function headerOf(given: Input["header"], right: string): unknown {
  if (given === null) return right;
  if (given === 5) return [right, right];
  if (Array.isArray(given) && given.length === 2 && given.every((part) => typeof part === "string")) {
    return given[0] + right + given[1];
  }
  return written(given as Text);
}
