import { type Fault, fault } from "../model/fault.ts";
import type { Live, LiveFilter } from "../model/live.ts";
import type { Observer } from "../model/observer.ts";
import type { Cancel, Clock, Random } from "../model/ports.ts";
import type { Timeline } from "../model/timeline.ts";
import { type At, formatTime, HOUR, KB, MINUTE, type Ms, SECOND } from "../model/units.ts";
import { acceptedEvents, attemptedEvent, type Happening, matches, refusedEvent } from "./happenings.ts";
import { createSample, type Sample } from "./sample.ts";

/** The time between two lines. */
const EVERY: Ms = 250;
/** A line comes so often, even if nothing happens. */
const SIGN_OF_LIFE: Ms = 5 * SECOND;
/** A watcher that reads nothing for so long is given up. */
const LONGEST_STALL: Ms = MINUTE;
/** Then the page asks again. */
const LONGEST: Ms = HOUR;
const MOST_WATCHERS = 8;
/** Bytes of lines that wait for their reader. At this size no line is added. */
const MOST_BUFFERED = 64 * KB;

type LiveWorld = {
  readonly clock: Pick<Clock, "now" | "after">;
  readonly timeline: Pick<Timeline, "toWall">;
  readonly random: Pick<Random, "fraction">;
  /** Ends all streams. */
  readonly closing: AbortSignal;
};

/** One who watches. Its connection has ended once `serve` answers false. */
type Watcher = {
  readonly filter: LiveFilter;
  readonly sample: Sample;
  serve(now: At): boolean;
  end(): void;
};

/**
 * What happens, for those who watch; nothing while nobody does. Each gets a fair sample of what it wants to see. A reader that is
 * slow gets fewer lines, each about a longer time: nothing waits for it, and nothing piles up.
 */
export function createLive({ clock, timeline, random, closing }: LiveWorld): Live & Omit<Observer, "givenUp"> {
  const watchers = new Set<Watcher>();
  const timeNow = () => formatTime(timeline.toWall(clock.now()));
  let cancel: Cancel = () => {};
  closing.addEventListener("abort", () => {
    cancel();
    for (const watcher of watchers) watcher.end();
    watchers.clear();
  });

  return {
    watch(filter, isAllowed) {
      const refusal = refuse();
      if (refusal) return refusal;
      return openStream((controller) => {
        const watcher = createWatcher({ filter, isAllowed, controller, sample: createSample(random), clock, timeNow });
        if (watchers.size === 0) schedule();
        watchers.add(watcher);
        return () => watchers.delete(watcher);
      });
    },
    accepted(source, accepted) {
      if (watchers.size > 0) for (const one of acceptedEvents(source, accepted)) show(one);
    },
    refused(refused) {
      if (watchers.size > 0) show(refusedEvent(refused));
    },
    attempted(delivery, outcome) {
      if (watchers.size > 0 && outcome.kind !== "released") show(attemptedEvent(delivery, outcome));
    },
  };

  function refuse(): Fault | null {
    if (closing.aborted) return fault("stopping", "the daemon is stopping");
    if (watchers.size < MOST_WATCHERS) return null;
    return fault("too_many_watchers", `${MOST_WATCHERS} streams are open already; close one of them`, SIGN_OF_LIFE);
  }

  /** Written at most once, however many watch. */
  function show(happening: Happening): void {
    let text: string | null = null;
    function write(): string {
      text ??= JSON.stringify({ kind: happening.kind, at: timeNow(), ...happening.describe() });
      return text;
    }
    for (const { filter, sample } of watchers) if (matches(happening, filter)) sample.add(write);
  }

  function schedule(): void {
    cancel();
    cancel = clock.after(EVERY, () => {
      for (const watcher of watchers) if (!watcher.serve(clock.now())) watchers.delete(watcher);
      if (watchers.size > 0) schedule();
    });
  }
}

type Controller = ReadableStreamDefaultController<Uint8Array>;

/** `start` answers what is done when the reader has gone. */
function openStream(start: (controller: Controller) => () => void): ReadableStream<Uint8Array> {
  let gone = () => {};
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        gone = start(controller);
      },
      cancel: () => gone(),
    },
    { highWaterMark: MOST_BUFFERED, size: (chunk) => chunk?.byteLength ?? 0 },
  );
}

type WatcherParts = Pick<Watcher, "filter" | "sample"> & {
  readonly isAllowed: () => boolean;
  readonly controller: Controller;
  readonly clock: Pick<Clock, "now">;
  readonly timeNow: () => string;
};

function createWatcher({ filter, sample, isAllowed, controller, clock, timeNow }: WatcherParts): Watcher {
  const since = clock.now();
  let sentAt = since;
  // So that the reader learns at once that it is connected.
  send();
  return {
    filter,
    sample,
    serve(now) {
      if (now - since >= LONGEST || now - sentAt >= LONGEST_STALL || !isAllowed()) {
        end();
        return false;
      }
      const isDue = !sample.isEmpty() || now - sentAt >= SIGN_OF_LIFE;
      if (isDue && hasRoom()) {
        send();
        sentAt = now;
      }
      return true;
    },
    end,
  };

  function send(): void {
    const { events, omitted } = sample.take();
    const line = `{"at":"${timeNow()}","events":[${events.join(",")}],"omitted":${omitted}}\n`;
    controller.enqueue(new TextEncoder().encode(line));
  }

  function hasRoom(): boolean {
    return (controller.desiredSize ?? 0) > 0;
  }

  /** What a slow reader has not fetched is dropped: its connection must not outlive the daemon. */
  function end(): void {
    if (hasRoom()) controller.close();
    else controller.error(new Error("the reader is too slow"));
  }
}
