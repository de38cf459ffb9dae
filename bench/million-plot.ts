/** How a million events came in, waited and drained, as a drawing. */
import { writeFileSync } from "node:fs";
import type { Moment, Story } from "./million.ts";
import { type Curve, draw } from "./plot.ts";
import type { Sample } from "./results.ts";

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
