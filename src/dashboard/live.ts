import { useEffect, useRef, useState } from "hono/jsx/dom";
import { now, Refusal, refusalOf, request, toRefusal } from "./api.ts";
import { append, EMPTY_TAIL, type LiveLine, readLines, release, type Tail } from "./tail.ts";

/** `opening` until the daemon answers. `lost` after the stream has ended or was refused, until the next try. `resting` while nobody looks. */
export type Link =
  | { readonly kind: "opening" | "live" | "resting" }
  | { readonly kind: "lost"; readonly why: Refusal; readonly since: number };

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
  let lostAt: number | null = null;
  link({ kind: "opening" });
  while (!signal.aborted) {
    try {
      await read(path, signal, {
        opened() {
          lostAt = null;
          link({ kind: "live" });
        },
        hear(line) {
          wait = FIRST_WAIT;
          hear(line);
        },
      });
      throw new Refusal("ended", "the daemon ended the stream");
    } catch (error) {
      if (signal.aborted) return;
      lostAt ??= now();
      link({ kind: "lost", why: lossOf(error), since: lostAt });
    }
    await sleep(wait, signal);
    wait = Math.min(wait * 2, LONGEST_WAIT);
  }
}

/** Browsers have words of their own for a connection that breaks off. */
function lossOf(error: unknown): Refusal {
  return error instanceof TypeError ? new Refusal("no_answer", "the connection was lost") : toRefusal(error);
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
    end.abort(new Refusal("silent", `nothing arrived for ${SILENCE / 1_000} seconds`));
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
