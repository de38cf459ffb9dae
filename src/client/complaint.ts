import { printable } from "./printable.ts";
import type { Cancel, World } from "./world.ts";

/** Says what is lost, where the program does not listen. */
export type Complaint = {
  add(message: string): void;
  /** Says what is left to say. */
  end(): void;
};

export type ComplaintWorld = Pick<World, "log" | "after" | "onExit">;

const QUIET_MS = 1_000;

/**
 * In an outage thousands are lost: the first is written down at once, and then a line a second says how many more. A
 * program that ends within this second hears of them at its end.
 */
export function createComplaint({ log, after, onExit }: ComplaintWorld): Complaint {
  let last = "";
  let count = 0;
  let quiet: Cancel | null = null;
  let leave: Cancel = () => {};

  return {
    add(message) {
      last = message;
      count += 1;
      if (quiet === null) say(`analytics: ${last}`);
      else if (count === 1) leave = onExit({ idle: end, gone: end });
    },
    end,
  };

  function end(): void {
    quiet?.();
    quiet = null;
    if (count > 0)
      say(count === 1 ? `analytics: ${last}` : `analytics: ${count} more calls are lost; the last: ${last}`);
  }

  function say(line: string): void {
    leave();
    count = 0;
    log(printable(line));
    quiet = after(QUIET_MS, end);
  }
}
