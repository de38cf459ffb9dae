/**
 * Looks for text of which 64 KB take far longer than a harmless text of that size: with that, anybody could hold the
 * daemon up. A measured time decides here, so only `make fuzz` looks: that of the processor, as the machine may be busy.
 */
import { it } from "node:test";
import fc from "fast-check";
import { kept, PATIENT, SECONDS, SEED, told } from "./fuzz.ts";
import { type Likeness, ODD, type Text, written } from "./text.ts";

export type Timed = Likeness & {
  readonly name: string;
  /** An ordinary text; it is repeated. */
  readonly harmless: string;
  run(text: string): unknown;
  stop?(): Promise<void>;
};

const SIZE = 64 * 1_024;
/** Times the harmless one; and in milliseconds, below which nobody is held up. */
const MOST_TIMES = 100;
const LEAST_MS = 100;

/** Says so if one takes far too long. */
export function fuzzTime(timed: Timed): void {
  const seconds = SECONDS;
  if (seconds === null) return;
  it(`fuzz: ${timed.name} takes no time that grows faster than its input`, PATIENT, async () => {
    try {
      await search(timed, Date.now() + seconds * 1_000);
    } finally {
      await timed.stop?.();
    }
  });
}

async function search(timed: Timed, until: number): Promise<void> {
  const most = Math.max(LEAST_MS, MOST_TIMES * (await fastest(timed, grown([timed.harmless]))));
  for (const { input } of kept<unknown>(timed.name)) await check(timed, keptText(input), most);
  const property = fc.asyncProperty(repeated(timed), (text) => check(timed, text, most));
  for (let seed = SEED; Date.now() < until; seed += 1) {
    const by = { seed, numRuns: 1_000, interruptAfterTimeLimit: until - Date.now(), markInterruptAsFailure: false };
    const { failed, counterexample, errorInstance } = await fc.check(property, by);
    if (failed && counterexample) throw told(timed.name, { seed, input: counterexample[0], why: errorInstance });
  }
}

/** The input of a target is a text, has one, or has a body that has one. */
function keptText(input: unknown): Text {
  const { text = input, body } = Object(input) as { readonly text?: unknown; readonly body?: unknown };
  return body === undefined ? (text as Text) : keptText(body);
}

async function check(timed: Timed, text: Text, most: number): Promise<void> {
  const took = await fastest(timed, written(text), most);
  if (took > most) throw new Error(`64 KB take ${Math.round(took)} ms, more than ${Math.round(most)}`);
}

/** Of three times: the first one may have to compile something. What is fast enough at once is not run again. */
async function fastest({ run }: Timed, text: string, most = 0): Promise<number> {
  let least = Infinity;
  for (let time = 0; time < 3; time += 1) {
    const before = process.cpuUsage();
    await run(text);
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / 1_000);
    if (least <= most) break;
  }
  return least;
}

/** A beginning, what is repeated until it is long enough, and an end. */
function repeated({ seeds, pieces }: Timed): fc.Arbitrary<Text> {
  const lines = seeds.flatMap((seed) => seed.split(/(?<=\n)/));
  const some = fc.array(fc.constantFrom(...pieces, ...ODD, ...lines), { maxLength: 3 });
  return fc.tuple(some, some, some).map(([before, again, after]) => {
    const unit = again.join("");
    return [before.join(""), [unit, unit === "" ? 0 : Math.floor(SIZE / unit.length)], after.join("")];
  });
}

function grown(text: Text): string {
  const unit = written(text);
  return unit.repeat(Math.ceil(SIZE / unit.length));
}
