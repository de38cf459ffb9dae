// What the targets of lists share: how one is read, in whatever pieces it comes.
import assert from "node:assert/strict";
import fc from "fast-check";
import { readList, splitterFor } from "../../src/admin/lists.ts";
import { createStreams } from "../../src/http/stream.ts";
import { FAULT_STATUS, type Fault, isFault } from "../../src/model/fault.ts";
import { createFalseClock } from "../flow/clock.ts";
import { type Fuzzed, fuzz } from "./fuzz.ts";
import { fuzzTime } from "./slow.ts";
import { anyCuts, cut, type Likeness, type Text, textLike, written } from "./text.ts";

type Input = {
  readonly text: Text;
  readonly cuts: readonly number[];
  /** Each character stands for one byte, which need not make UTF-8. */
  readonly raw: boolean;
  readonly kind: "audience" | "trait";
};

type ListTarget = Likeness & {
  readonly name: string;
  readonly type: string;
  readonly harmless: string;
  /** Members as they are written in a list that nothing has spoiled, and how it is made of them. */
  readonly members: readonly string[];
  readonly listOf: (members: readonly string[]) => string;
};

/** A list of this type says the same, however it is cut: all of its members, or one fault. */
export function fuzzList({ type, members, listOf, ...target }: ListTarget): void {
  const input: fc.Arbitrary<Input> = fc.record({
    text: fc.oneof({ weight: 3, arbitrary: textLike(target) }, fc.array(fc.constantFrom(...members)).map(listOf)),
    cuts: anyCuts,
    ...{ raw: fc.boolean(), kind: fc.constantFrom("audience", "trait") },
  });
  fuzz({ ...target, input, runs: 300, start: () => createFuzzed(type) });
  fuzzTime({ ...target, run: (text) => read({ type, kind: "trait", pieces: [Buffer.from(text)] }) });
}

function createFuzzed(type: string): Fuzzed<Input> {
  return {
    async holds({ text, cuts, raw, kind }) {
      const bytes = Buffer.from(written(text), raw ? "latin1" : "utf8");
      const whole = await read({ type, kind, pieces: [bytes] });
      if (typeof whole !== "string") for (const { user } of whole) assert.ok(user !== "" && user.isWellFormed());
      const all = bytes.length <= 400 ? [cuts, null] : [cuts];
      for (const places of all) {
        const found = await read({ type, kind, pieces: cut(bytes, places) });
        // Of text that is none, it depends on the pieces how much of it was looked at before.
        if (found === NO_TEXT || whole === NO_TEXT) assert.equal(typeof found, typeof whole);
        else assert.deepEqual(found, whole);
      }
    },
  };
}

const NO_TEXT = "the body is not valid UTF-8";

type Reading = { readonly type: string; readonly kind: Input["kind"]; readonly pieces: readonly Uint8Array[] };

/** Its members, or what is wrong with it; from the bytes of a request, as the daemon reads it. */
async function read({ type, kind, pieces }: Reading) {
  const splitter = splitterFor(type) as Exclude<ReturnType<typeof splitterFor>, Fault>;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(new Uint8Array(piece));
      controller.close();
    },
  });
  const request = new Request("http://127.0.0.1/", { method: "POST", body, duplex: "half" } as RequestInit);
  const members = [];
  for await (const some of readList(createStreams(createFalseClock()).read(request, 10_000_000), splitter, kind)) {
    if (isFault(some)) {
      assert.equal(FAULT_STATUS[some.code], 400);
      return some.message;
    }
    members.push(...some);
  }
  return members;
}
