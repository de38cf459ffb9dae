import { useEffect, useRef, useState } from "hono/jsx/dom";
import { now, Refusal, refusalOf, request, toRefusal } from "./api.ts";

/** An event of the stream, as `GET /api/live` sends it. */
export type LiveEvent = {
  readonly at: string;
  readonly source: string | null;
  readonly type: string | null;
  readonly messageId: string | null;
} & (
  | {
      readonly kind: "accepted";
      readonly event: string | null;
      readonly userId: string | null;
      readonly destinations: readonly string[];
    }
  | { readonly kind: "refused"; readonly code: string; readonly message: string }
  | {
      readonly kind: "attempted";
      readonly destination: string;
      readonly delivery: string;
      readonly attempt: number;
      readonly status: number | null;
      readonly reason: string | null;
      readonly duration: number;
    }
);

/** `omitted`: how many more there were than a line can have. */
export type LiveLine = { readonly events: readonly LiveEvent[]; readonly omitted: number };

/** `number` tells the rows apart. */
export type Row = { readonly number: number; readonly event: LiveEvent };

/** What has come since the stream was opened. The newest is first. */
export type Tail = {
  readonly rows: readonly Row[];
  /** What came while the page was paused. */
  readonly held: readonly Row[];
  readonly counts: Readonly<Record<LiveEvent["kind"], number>>;
  /** How many were never on the page: the daemon left them out, or too many came while it was paused. */
  readonly unseen: number;
};

export const EMPTY_TAIL: Tail = {
  rows: [],
  held: [],
  counts: { accepted: 0, refused: 0, attempted: 0 },
  unseen: 0,
};

const MOST_ROWS = 200;

/** The tail with one more line. A paused page keeps its rows, and holds the new ones back. */
export function append(tail: Tail, { events, omitted }: LiveLine, paused: boolean): Tail {
  const { accepted, refused, attempted } = tail.counts;
  const first = accepted + refused + attempted;
  const added = events.map((event, nth) => ({ number: first + nth, event })).reverse();
  const counts = { accepted, refused, attempted };
  for (const { kind } of events) counts[kind] += 1;
  const unseen = tail.unseen + omitted;
  if (!paused) return { rows: [...added, ...tail.rows].slice(0, MOST_ROWS), held: [], counts, unseen };
  const held = [...added, ...tail.held];
  const over = Math.max(0, held.length - MOST_ROWS);
  return { rows: tail.rows, held: held.slice(0, MOST_ROWS), counts, unseen: unseen + over };
}

/** The tail with what was held back. */
export function release({ rows, held, counts, unseen }: Tail): Tail {
  return { rows: [...held, ...rows].slice(0, MOST_ROWS), held: [], counts, unseen };
}

/** `opening` until the daemon answers. `lost` after the stream has ended or was refused, until the next try. `resting` while nobody looks. */
export type Link =
  | { readonly kind: "opening" | "live" | "resting" }
  | { readonly kind: "lost"; readonly why: Refusal; readonly at: number };

type Live = {
  readonly link: Link;
  readonly tail: Tail;
  readonly paused: boolean;
  readonly setPaused: (paused: boolean) => void;
};

/** A tab that is hidden for so long has no reader. */
const RESTS_AFTER = 60_000;

/**
 * Follows a live stream until the screen closes or the tab is hidden for a minute. A paused page reads on, so that it knows what
 * it holds back and that the daemon is there.
 */
export function useLive(path: string): Live {
  const [link, setLink] = useState<Link>({ kind: "opening" });
  const [tail, setTail] = useState(EMPTY_TAIL);
  const [paused, setPaused] = useState(false);
  const isPaused = useRef(false);
  useEffect(() => {
    const closed = new AbortController();
    let stream = new AbortController();
    let resting: ReturnType<typeof setTimeout> | undefined;
    setTail(EMPTY_TAIL);
    open();
    document.addEventListener("visibilitychange", lookAround, { signal: closed.signal });
    return () => {
      closed.abort();
      stream.abort();
      clearTimeout(resting);
    };

    function open(): void {
      stream = new AbortController();
      void follow(path, {
        signal: stream.signal,
        hear: (line) => setTail((before) => append(before, line, isPaused.current ?? false)),
        link: setLink,
      });
    }

    function lookAround(): void {
      clearTimeout(resting);
      if (document.hidden) resting = setTimeout(rest, RESTS_AFTER);
      else if (stream.signal.aborted) open();
    }

    function rest(): void {
      stream.abort();
      setLink({ kind: "resting" });
    }
  }, [path]);
  return {
    link,
    tail,
    paused,
    setPaused(next) {
      isPaused.current = next;
      setPaused(next);
      if (!next) setTail(release);
    },
  };
}

type Follower = {
  readonly signal: AbortSignal;
  readonly hear: (line: LiveLine) => void;
  readonly link: (link: Link) => void;
};

const FIRST_WAIT = 1_000;
const LONGEST_WAIT = 15_000;

/** Reads a stream, and opens it again after it was lost: soon the first time, then ever more rarely. Never rejects. */
async function follow(path: string, { signal, hear, link }: Follower): Promise<void> {
  let wait = FIRST_WAIT;
  link({ kind: "opening" });
  while (!signal.aborted) {
    try {
      await read(path, signal, {
        opened: () => link({ kind: "live" }),
        hear(line) {
          wait = FIRST_WAIT;
          hear(line);
        },
      });
      throw new Refusal("ended", "the daemon has ended the stream");
    } catch (error) {
      if (signal.aborted) return;
      link({ kind: "lost", why: lossOf(error), at: now() });
    }
    await sleep(wait, signal);
    wait = Math.min(wait * 2, LONGEST_WAIT);
  }
}

/** Browsers have words of their own for a connection that breaks off. */
function lossOf(error: unknown): Refusal {
  return error instanceof TypeError ? new Refusal("no_answer", "the connection broke off") : toRefusal(error);
}

/** The daemon sends a line every five seconds, if only as a sign of life. */
const SILENCE = 12_000;

type Reader = { readonly opened: () => void; readonly hear: (line: LiveLine) => void };

/** Reads a stream to its end. It is given up when nothing comes for a while. */
async function read(path: string, signal: AbortSignal, { opened, hear }: Reader): Promise<void> {
  const end = new AbortController();
  let timer = setTimeout(giveUp, SILENCE);
  try {
    const response = await request(path, { signal: AbortSignal.any([signal, end.signal]) });
    if (!response.ok || !response.body) throw await refusalOf(response);
    opened();
    await readLines(response.body, (line) => {
      clearTimeout(timer);
      timer = setTimeout(giveUp, SILENCE);
      hear(line as LiveLine);
    });
  } finally {
    clearTimeout(timer);
    end.abort();
  }

  function giveUp(): void {
    end.abort(new Refusal("silent", `nothing came for ${SILENCE / 1_000} seconds`));
  }
}

/** Reads lines of JSON, each as soon as it is whole. */
export async function readLines(body: ReadableStream<Uint8Array>, hear: (line: unknown) => void): Promise<void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line !== "") hear(JSON.parse(line));
  }
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
