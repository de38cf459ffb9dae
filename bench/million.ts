/** A million events that come in while their receiver is away, wait, and drain: rates and memory, and a drawing of it. */
import { writeFileSync } from "node:fs";
import type { Contender, Server } from "./contender.ts";
import { BATCH } from "./measure.ts";
import { type Curve, draw } from "./plot.ts";
import { now } from "./processes.ts";
import type { Sample } from "./results.ts";
import { arrival, type Bench, kindOf, warmUp, withServer } from "./run.ts";
import { memoryOf } from "./usage.ts";
import { type Measured, watch } from "./watch.ts";

/** What was so at one time, in seconds since the first call. */
type Moment = {
  readonly at: number;
  /** Events acknowledged, and webhooks arrived, until then. */
  readonly taken: number;
  readonly delivered: number;
  /** In bytes. */
  readonly memory: number;
};

/** When the last call was acknowledged, and when the first webhook came; in seconds since the first call. */
export type Story = { readonly takenAt: number; readonly drainsAt: number; readonly moments: readonly Moment[] };

/** In ms. */
const LOOK_EVERY = 250;

export function measureMillion(contender: Contender, bench: Bench): Promise<Measured> {
  const { million, waiting } = bench.amounts;
  const { leave, comeBack } = absenceOf(contender);
  return withServer(contender, bench, async (server) => {
    const kind = { ...kindOf(server, "none"), eventsPerRequest: BATCH };
    await warmUp(kind, bench);
    let story: Story = { takenAt: 0, drainsAt: 0, moments: [] };
    const measured = await watch(server, bench, async () => {
      await bench.receiver.ask(leave);
      const flooding = bench.load.ask("flood", { ...kind, requests: million / BATCH });
      const watching = startWatching(server, bench);
      const { startedAt, endedAt } = await flooding;
      await Bun.sleep(waiting * 1_000);
      const waitingMemory = memoryOf(server);
      const backAt = await bench.receiver.ask(comeBack, { requests: million });
      const { at, firstAt } = await arrival(million, bench);
      // A closed lane waits for its next probe first; the floor's first requests came before, and were held.
      const drainsAt = Math.max(firstAt, backAt);
      const since = (time: number): number => (time - startedAt) / 1_000;
      const moments = (await watching.stop()).map((moment) => ({ ...moment, at: since(moment.at) }));
      story = { takenAt: since(endedAt), drainsAt: since(drainsAt), moments };
      return {
        acceptedPerSecond: million / since(endedAt),
        drainedPerSecond: million / (since(at) - since(drainsAt)),
        waitingMemory,
      };
    });
    return { ...measured, story };
  });
}

type Absence = { readonly leave: "leave" | "hold"; readonly comeBack: "comeBack" | "release" };

/** Nobody listens at Fairlead's webhook. The floor has no retries: its receiver takes requests and does not answer. */
function absenceOf(contender: Contender): Absence {
  if (contender === "fairlead") return { leave: "leave", comeBack: "comeBack" };
  return { leave: "hold", comeBack: "release" };
}

function startWatching(server: Server, { load, receiver }: Bench) {
  let isOver = false;
  const watching = watchOn();
  // If the server ends before its time, whoever waits for it hears so; here it is only that its memory cannot be told.
  watching.catch(() => {});
  return {
    stop(): Promise<readonly Moment[]> {
      isOver = true;
      return watching;
    },
  };

  async function watchOn(): Promise<readonly Moment[]> {
    const moments: Moment[] = [];
    while (!isOver) {
      const pause = Bun.sleep(LOOK_EVERY);
      const [requests, count] = await Promise.all([load.ask("progress"), receiver.ask("count")]);
      const of = { taken: requests * BATCH, delivered: count.requests, memory: memoryOf(server) };
      moments.push({ at: now(), ...of });
      await pause;
    }
    return moments;
  }
}

/** Draws the last run of Fairlead, if there is one that can be drawn, and answers whether there was. */
export function writeStory(samples: readonly Sample[], path: string): boolean {
  const story = samples.findLast(({ contender, story }) => contender === "fairlead" && story)?.story;
  if (story) writeFileSync(path, drawStory(story));
  return story !== undefined;
}

export function drawStory({ takenAt, drainsAt, moments: all }: Story): string {
  const moments = thinned(all);
  const end = moments.at(-1)?.at ?? drainsAt;
  const events = Math.max(0, ...moments.map(({ taken }) => taken));
  const [blue, orange, green] = ["#1f5fbf", "#d9730d", "#2e7d32"];
  const memory = moments.map(({ at, memory }) => ({ x: Math.max(0, at), y: memory / 1_000_000 }));
  return draw({
    title: `${events.toLocaleString("en-US")} events come in while their receiver is away, wait, and drain`,
    label: "seconds since the first call",
    phases: [
      { name: "come in", from: 0, to: takenAt },
      { name: "wait", from: takenAt, to: drainsAt },
      { name: "drain", from: drainsAt, to: end },
    ],
    charts: [
      {
        label: "events a second",
        curves: [rateOf("acknowledged", blue, moments), rateOf("delivered", orange, moments)],
      },
      {
        label: "memory, MB",
        curves: [{ name: "resident memory", colour: green, points: memory }],
        bound: { name: "wanted: up to 150 MB", y: 150 },
      },
    ],
  });
}

/** More would be closer together than can be seen, and make the file large. */
const MOST_MOMENTS = 400;

/** The last of several, with the most memory that any of them saw: a peak must not be lost. */
function thinned(moments: readonly Moment[]): readonly Moment[] {
  const every = Math.ceil(moments.length / MOST_MOMENTS);
  return moments.flatMap((moment, nth) => {
    if ((nth + 1) % every !== 0 && nth !== moments.length - 1) return [];
    const some = moments.slice(nth - (nth % every), nth + 1);
    return [{ ...moment, memory: Math.max(...some.map(({ memory }) => memory)) }];
  });
}

/** Looks that a rate goes over: one alone would jump with each commit. */
const LOOKS = 2;
const COUNTS = { acknowledged: "taken", delivered: "delivered" } as const;

function rateOf(name: keyof typeof COUNTS, colour: string, moments: readonly Moment[]): Curve {
  const count = COUNTS[name];
  const points = moments.slice(LOOKS).map((moment, nth) => {
    const before = moments[nth] ?? moment;
    return { x: Math.max(0, moment.at), y: (moment[count] - before[count]) / (moment.at - before.at) };
  });
  return { name, colour, points };
}
