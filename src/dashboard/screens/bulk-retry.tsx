import { type Child, useEffect, useRef, useState } from "hono/jsx/dom";
import type { JSX } from "hono/jsx/jsx-runtime";
import type { replayPage } from "../../wire/deliveries.ts";
import type { Received } from "../../wire/fields.ts";
import { act, toRefusal } from "../api.ts";
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
  /** Whether all pages are in it. */
  readonly ended: boolean;
};

const NOTHING: Sum = { replayed: 0, left: 0, destinations: {}, oldest: null, newest: null, ended: false };

type Stage =
  | { readonly kind: "idle"; readonly said: Child }
  | { readonly kind: "counting" | "asking" | "running"; readonly sum: Sum; readonly total: number };

type BulkRetryOf = { readonly filter: Filter; readonly hindered: string | null; readonly done: () => void };

/** Sends all settled deliveries that match again: counts them first, asks, and shows how far it is. */
export function BulkRetry({ filter, hindered, done }: BulkRetryOf): JSX.Element {
  const { stage, close, count, run } = useReplay(filter, done);
  return (
    <span class="action">
      <button type="button" disabled={hindered !== null} title={hindered ?? undefined} onClick={count}>
        Retry all that match…
      </button>
      <span role="status">{stage.kind === "idle" ? stage.said : null}</span>
      {stage.kind === "idle" ? null : (
        <Dialog label="Retry all that match" close={close}>
          <div class="question" aria-live="polite">
            <Question stage={stage} />
          </div>
          <div class="actions">
            <button type="button" onClick={close}>
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
}

type Replaying = {
  readonly stage: Stage;
  readonly close: () => void;
  /** Counts what matches, and then asks. */
  readonly count: () => void;
  readonly run: () => void;
};

function useReplay(filter: Filter, done: () => void): Replaying {
  const [stage, setStage] = useState<Stage>({ kind: "idle", said: null });
  const stop = useRef<AbortController | null>(null);
  useEffect(() => () => stop.current?.abort(), []);
  return {
    stage,
    close() {
      stop.current?.abort();
      // The page that was asked for last is still done: it is waited for, and counts.
      if (stage.kind !== "running") setStage({ kind: "idle", said: null });
    },
    count: () => walk("counting", 0),
    run: () => walk("running", stage.kind === "idle" ? 0 : stage.sum.replayed),
  };

  async function walk(kind: "counting" | "running", total: number): Promise<void> {
    const stopping = new AbortController();
    const isRunning = kind === "running";
    stop.current = stopping;
    let sum = NOTHING;
    setStage({ kind, sum, total });
    try {
      for await (sum of replay(filter, !isRunning)) {
        if (stopping.signal.aborted) break;
        setStage({ kind: sum.ended && !isRunning ? "asking" : kind, sum, total });
      }
      if (isRunning) end(`${sum.ended ? "" : "stopped: "}${waitAgain(sum)}`);
    } catch (error) {
      const why = toRefusal(error).message;
      if (isRunning) end(`${waitAgain(sum)}; then: ${why}`, "said bad");
      else if (!stopping.signal.aborted) setStage({ kind: "idle", said: <span class="said bad">{why}</span> });
    }
  }

  function end(what: string, look = "said"): void {
    setStage({ kind: "idle", said: <span class={look}>{what}</span> });
    done();
  }
}

function waitAgain({ replayed }: Sum): string {
  return `${words.some(replayed, "waits", "wait")} again`;
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
        <strong>{words.some(sum.replayed, "delivery", "deliveries")}</strong> will be sent again, each with a new
        cutoff:
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

/** Page by page, so that the daemon stays free for everything else. Yields the sum so far. */
async function* replay(filter: Filter, dryRun: boolean): AsyncGenerator<Sum, void> {
  const given = Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== null));
  let sum = NOTHING;
  let cursor: string | null = null;
  do {
    const page: Page = await act<Page>("/api/replay", { filter: given, dryRun, cursor, limit: 1_000 });
    sum = plus(sum, page);
    cursor = page.cursor;
    yield sum;
  } while (cursor !== null);
}

function plus(sum: Sum, page: Page): Sum {
  const destinations: Record<string, number> = Object.assign({}, sum.destinations);
  for (const [name, number] of Object.entries(page.destinations))
    destinations[name] = (destinations[name] ?? 0) + number;
  return {
    replayed: sum.replayed + page.replayed,
    left: sum.left + page.left + page.deleted + page.superseded,
    destinations,
    oldest: first([sum.oldest, page.oldest]),
    newest: first([sum.newest, page.newest], -1),
    ended: page.cursor === null,
  };
}

/** The earliest of these times, or with -1 the latest. Times of the API have one form, which sorts as text. */
function first(times: readonly (string | null)[], order: 1 | -1 = 1): string | null {
  const known = times.filter((time) => time !== null).sort();
  return known.at(order === 1 ? 0 : -1) ?? null;
}
