import type { Delivery, RetryPolicy } from "../../src/model/delivery.ts";
import type { QueueAsk, QueuePage } from "../../src/model/ports.ts";
import type { Report } from "../../src/model/report.ts";
import { HOUR } from "../../src/model/units.ts";
import { WAITS } from "../../src/settle/backoff.ts";
import { refOf } from "../../src/store/sqlite/progress.ts";

export const POLICY: RetryPolicy = { ...WAITS, cutoff: 4 * HOUR };

export function makeDelivery(delivery: Partial<Delivery> & { id: number }): Delivery {
  return {
    destination: "crm",
    ref: refOf(delivery.id),
    source: "website",
    messageId: `m${delivery.id}`,
    type: "track",
    body: "{}",
    acceptedAt: 0,
    replayedAt: null,
    attempts: 0,
    firstAttemptAt: null,
    attemptedAt: null,
    stoodStill: 0,
    dueAt: 0,
    finals: [],
    ...delivery,
  };
}

/** A report that only remembers what it was told. */
export function makeReport(told: string[] = []): Report {
  return new Proxy({} as Report, { get: (_, what) => () => told.push(String(what)) });
}

/** A store that holds these deliveries, and answers small pages. */
export function makeStore(rows: Delivery[]) {
  const asked: QueueAsk[] = [];
  const isAfter = (row: Delivery, { queue, after }: QueueAsk): boolean => {
    if (after === null) return true;
    if (queue === "first") return row.id > after.id;
    return row.dueAt > after.dueAt || (row.dueAt === after.dueAt && row.id > after.id);
  };
  const queued = (queue: QueueAsk["queue"]): Delivery[] =>
    rows
      .filter((row) => (row.attemptedAt === null) === (queue === "first"))
      .sort((a, b) => (queue === "first" ? a.id - b.id : a.dueAt - b.dueAt || a.id - b.id));
  return {
    asked,
    async readQueue(ask: QueueAsk): Promise<QueuePage> {
      asked.push(ask);
      const found = queued(ask.queue).filter(
        (row) => isAfter(row, ask) && (ask.queue === "first" || row.dueAt <= ask.dueBy),
      );
      if (ask.newestFirst) return { deliveries: queued("first").reverse().slice(0, ask.limit), more: true };
      if (ask.notOf) return search(found, ask.notOf);
      return { deliveries: found.slice(0, ask.limit), more: found.length > ask.limit };
    },
    backlog: {
      async nextRetryAt(_: string, after: QueueAsk["after"]) {
        const ask = { destination: "crm", queue: "retry", after, dueBy: 0, limit: 0 } as const;
        return queued("retry").find((row) => isAfter(row, ask))?.dueAt ?? null;
      },
    },
  };
}

/** How many deliveries a search looks at. */
const SEARCHED = 300;

function search(found: readonly Delivery[], notOf: ReadonlySet<string>): QueuePage {
  const seen = found.slice(0, SEARCHED);
  const [passedOver, deliveries] = [true, false].map((isOne) =>
    seen.filter(({ source }) => notOf.has(source) === isOne),
  );
  const last = seen.at(-1);
  return {
    deliveries: deliveries ?? [],
    more: found.length > seen.length,
    passedOver: new Set(passedOver?.map(({ source }) => source)),
    ...(last && { upTo: { dueAt: last.dueAt, id: last.id } }),
  };
}
