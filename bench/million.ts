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

/** When the last call was acknowledged, and when the receiver was there again; in seconds since the first call. */
export type Story = { readonly takenAt: number; readonly backAt: number; readonly moments: readonly Moment[] };

/** In ms. */
const LOOK_EVERY = 250;
/** In ms, from the last acknowledgement until the receiver is there again. */
const WAITING = 3_000;

export function measureMillion(contender: Contender, bench: Bench): Promise<Measured> {
  const { million } = bench.amounts;
  const { leave, comeBack } = absenceOf(contender);
  return withServer(contender, bench, async (server) => {
    const kind = { ...kindOf(server, "none"), eventsPerRequest: BATCH };
    await warmUp(kind, bench);
    let story: Story = { takenAt: 0, backAt: 0, moments: [] };
    const measured = await watch(server, bench, async () => {
      await bench.receiver.ask(leave);
      const flooding = bench.load.ask("flood", { ...kind, requests: million / BATCH });
      const watching = startWatching(server, bench);
      const { startedAt, endedAt } = await flooding;
      await Bun.sleep(WAITING);
      const waitingMemory = memoryOf(server);
      const backAt = await bench.receiver.ask(comeBack, { requests: million });
      const { at, firstAt } = await arrival(million, bench);
      const moments = (await watching.stop()).map((moment) => ({ ...moment, at: (moment.at - startedAt) / 1_000 }));
      story = { takenAt: (endedAt - startedAt) / 1_000, backAt: (backAt - startedAt) / 1_000, moments };
      return {
        acceptedPerSecond: (million / (endedAt - startedAt)) * 1_000,
        // From the first request on: until then a closed lane waits for its next probe.
        drainedPerSecond: (million / (at - Math.max(firstAt, backAt))) * 1_000,
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
