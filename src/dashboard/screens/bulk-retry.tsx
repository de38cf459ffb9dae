import { type Child, useState } from "hono/jsx/dom";
import type { JSX } from "hono/jsx/jsx-runtime";
import type { replayPage } from "../../wire/deliveries.ts";
import type { Received } from "../../wire/fields.ts";
import { act, Refusal } from "../api.ts";
import { Dialog, Moment } from "../parts.tsx";
import * as words from "../words.ts";
import type { Filter } from "./deliveries.tsx";

type Page = Received<typeof replayPage>;

type Sum = {
  readonly replayed: number;
  readonly left: number;
  readonly destinations: Readonly<Record<string, number>>;
  readonly oldest: string | null;
  readonly newest: string | null;
};

const NOTHING: Sum = { replayed: 0, left: 0, destinations: {}, oldest: null, newest: null };

type Stage =
  | { readonly kind: "idle"; readonly said: Child }
  | { readonly kind: "counting" | "asking" | "running"; readonly sum: Sum; readonly total: number };

type BulkRetryOf = { readonly filter: Filter; readonly hindered: string | null; readonly done: () => void };

/** Sends all settled deliveries that match again: counts them first, asks, and shows how far it is. */
export function BulkRetry({ filter, hindered, done }: BulkRetryOf): JSX.Element {
  const [stage, setStage] = useState<Stage>({ kind: "idle", said: null });
  const [stop, setStop] = useState<AbortController | null>(null);
  const close = (said: Child = null): void => {
    stop?.abort();
    setStage({ kind: "idle", said });
  };
  return (
    <span class="action">
      <button type="button" disabled={hindered !== null} title={hindered ?? undefined} onClick={count}>
        Retry all that match…
      </button>
      <span role="status">{stage.kind === "idle" ? stage.said : null}</span>
      {stage.kind === "idle" ? null : (
        <Dialog label="Retry all that match" close={() => close()}>
          <div class="question" aria-live="polite">
            <Question stage={stage} />
          </div>
          <div class="actions">
            <button type="button" onClick={() => close()}>
              {stage.kind === "running" ? "Stop" : "Cancel"}
            </button>
            <button
              type="button"
              class="main"
              disabled={stage.kind !== "asking" || stage.sum.replayed === 0}
              onClick={run}
            >
              Retry
            </button>
          </div>
        </Dialog>
      )}
    </span>
  );

  async function count(): Promise<void> {
    await walk("counting", true, (sum) => setStage({ kind: "asking", sum, total: sum.replayed }));
  }

  async function run(): Promise<void> {
    const total = stage.kind === "idle" ? 0 : stage.sum.replayed;
    await walk(
      "running",
      false,
      (sum) => {
        setStage({ kind: "idle", said: <span class="said">{words.some(sum.replayed, "waits", "wait")} again</span> });
        done();
      },
      total,
    );
  }

  async function walk(
    kind: "counting" | "running",
    dryRun: boolean,
    end: (sum: Sum) => void,
    total = 0,
  ): Promise<void> {
    const stopping = new AbortController();
    setStop(stopping);
    setStage({ kind, sum: NOTHING, total });
    try {
      const sum = await replay(
        filter,
        dryRun,
        (so) => !stopping.signal.aborted && setStage({ kind, sum: so, total }),
        stopping.signal,
      );
      if (!stopping.signal.aborted) end(sum);
    } catch (error) {
      const why = error instanceof Refusal ? error.message : String(error);
      if (!stopping.signal.aborted) setStage({ kind: "idle", said: <span class="said bad">{why}</span> });
    }
  }
}

function Question({ stage }: { readonly stage: Exclude<Stage, { readonly kind: "idle" }> }): Child {
  const { kind, sum, total } = stage;
  if (kind === "counting") return <p>Counting: {words.exact(sum.replayed)} so far…</p>;
  if (kind === "running") {
    return (
      <>
        <p>
          {words.exact(sum.replayed)} of about {words.exact(total)} wait again…
        </p>
        <progress aria-label="Deliveries that wait again" max={total} value={sum.replayed} />
      </>
    );
  }
  if (sum.replayed === 0) return <p>Nothing that matches can be sent again.</p>;
  return (
    <>
      <p>
        <strong>{words.some(sum.replayed, "delivery", "deliveries")}</strong> will be sent again, each for up to four
        hours:
      </p>
      <ul>
        {Object.entries(sum.destinations).map(([name, number]) => (
          <li key={name}>
            {name}: {words.exact(number)}
          </li>
        ))}
      </ul>
      <p class="quiet">
        Their events came between <Moment at={sum.oldest} /> and <Moment at={sum.newest} />.
        {sum.left > 0
          ? ` ${words.exact(sum.left)} more stay as they are: their destination is gone, or they were ended by command.`
          : ""}
      </p>
    </>
  );
}

/** Page by page, so that the daemon stays free for everything else. */
async function replay(filter: Filter, dryRun: boolean, tell: (sum: Sum) => void, signal: AbortSignal): Promise<Sum> {
  const given = Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== null));
  let sum = NOTHING;
  let cursor: string | null = null;
  do {
    const page: Page = await act<Page>("/api/replay", { filter: given, dryRun, cursor, limit: 1_000 });
    sum = plus(sum, page);
    cursor = page.cursor;
    tell(sum);
  } while (cursor !== null && !signal.aborted);
  return sum;
}

function plus(sum: Sum, page: Page): Sum {
  const destinations: Record<string, number> = Object.assign({}, sum.destinations);
  for (const [name, number] of Object.entries(page.destinations))
    destinations[name] = (destinations[name] ?? 0) + number;
  return {
    replayed: sum.replayed + page.replayed,
    left: sum.left + page.left + page.deleted + page.superseded,
    destinations,
    oldest: earlier(sum.oldest, page.oldest),
    newest: earlier(page.newest, sum.newest) === page.newest ? (sum.newest ?? page.newest) : page.newest,
  };
}

/** Times of the API have one form, which sorts as text. */
function earlier(one: string | null, other: string | null): string | null {
  if (one === null || other === null) return one ?? other;
  return one < other ? one : other;
}
