import { type Fault, fault } from "../model/fault.ts";
import type { Clock } from "../model/ports.ts";
import { type At, formatDuration, MB, MINUTE, type Ms, SECOND } from "../model/units.ts";

/** How long a client may take to send its body. */
const DEADLINE: Ms = MINUTE;
/** How often the deadlines are looked at: one timer serves all bodies. */
const SWEEP: Ms = 5 * SECOND;
/** All bodies that are not complete yet, by the length they announce. */
const MOST_UNFINISHED = 64 * MB;
/** A client that has had so long may have to make way for others. Nearly all bodies are complete at once. */
const FAIR_TIME: Ms = SECOND;

/** Bodies that are on their way, bounded in time, and in how much they may be together. */
export type Uploads = {
  /**
   * Waits for a body of at most `size` bytes. `receive` never rejects, and ends when its connection does. Faults:
   * `body_too_slow`, `too_many_bodies`, and those of `receive`.
   */
  take<Received>(size: number, receive: () => Promise<Received | Fault>): Promise<Received | Fault>;
};

type Upload = {
  readonly startedAt: At;
  readonly size: number;
  readonly answer: (result: Fault) => void;
  isGivenUp: boolean;
};

/** What is given up counts until its answer has ended the connection: it may still come in until then. */
export function createUploads(clock: Clock): Uploads {
  const uploads = new Set<Upload>();
  let unfinished = 0;
  let leaving = 0;
  let sweeping = false;

  return {
    take(size, receive) {
      makeRoom(size);
      if (unfinished + size > MOST_UNFINISHED) return Promise.resolve(tooMany());
      return inTime(size, receive());
    },
  };

  /** Whoever has taken longest goes first: connections that only wait must not keep out those that send. */
  function makeRoom(size: number): void {
    const latest = clock.now() - FAIR_TIME;
    for (const upload of uploads) {
      if (unfinished - leaving + size <= MOST_UNFINISHED || upload.startedAt > latest) return;
      giveUp(upload, madeWay());
    }
  }

  function giveUp(upload: Upload, why: Fault): void {
    if (!upload.isGivenUp) leaving += upload.size;
    upload.isGivenUp = true;
    upload.answer(why);
  }

  function inTime<Received>(size: number, receiving: Promise<Received | Fault>): Promise<Received | Fault> {
    unfinished += size;
    return new Promise((resolve) => {
      const upload = { startedAt: clock.now(), size, isGivenUp: false, answer: resolve };
      uploads.add(upload);
      watch();
      void receiving.then((received) => {
        unfinished -= size;
        if (upload.isGivenUp) leaving -= size;
        uploads.delete(upload);
        resolve(received);
      });
    });
  }

  function watch(): void {
    if (sweeping || uploads.size === 0) return;
    sweeping = true;
    clock.after(SWEEP, sweep);
  }

  function sweep(): void {
    const latest = clock.now() - DEADLINE;
    for (const upload of uploads) if (upload.startedAt <= latest) giveUp(upload, tooSlow());
    sweeping = false;
    watch();
  }
}

function tooSlow(): Fault {
  return fault("body_too_slow", `the body was not complete after ${formatDuration(DEADLINE)}`);
}

function madeWay(): Fault {
  return fault("body_too_slow", "the body was still coming when too many others were; try again");
}

function tooMany(): Fault {
  return fault("too_many_bodies", "too many bodies are being received at once; try again", SECOND);
}
