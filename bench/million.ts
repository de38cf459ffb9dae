/** A million events that come in while their receiver is away, wait, and drain: rates and memory, and how they went. */
import type { Contender, Server } from "./contender.ts";
import { BATCH } from "./measure.ts";
import { arrival, type Bench, kindOf, warmUp, withServer } from "./run.ts";
import { now } from "./time.ts";
import { memoryOf } from "./usage.ts";
import { type Measured, watch } from "./watch.ts";

/** What was so at one time, in seconds since the first call. */
export type Moment = {
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
