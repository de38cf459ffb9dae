import type { At } from "../../model/units.ts";
import type { Counts } from "./counts.ts";
import type { Database } from "./driver.ts";
import { createOpenBodies } from "./open-bodies.ts";
import type { Progress } from "./progress.ts";
import type { Tried } from "./tried.ts";
import type { Waiting } from "./waiting.ts";

export type GiveUp = {
  /** Inside a transaction: it has failed, without another attempt. Answers how many bytes of bodies were written. */
  run(one: Waiting, why: { readonly at: At; readonly reason: string }): number;
  /** Lets go of what it has read. */
  forget(): void;
};

export type GiveUpParts = { readonly counts: Counts; readonly progress: Progress; readonly tried: Tried };

export function createGiveUp(db: Database, { counts, progress, tried }: GiveUpParts): GiveUp {
  const bodies = createOpenBodies(db);
  return {
    run(one, why) {
      const body = one.kind === "letter" ? setApart(one, why.at) : one.size;
      tried.giveUp(one, why);
      counts.add(one.destination, "waiting", -1);
      counts.add(one.destination, "failed", 1);
      return body;
    },
    forget: bodies.forget,
  };

  function setApart(one: Waiting, at: At): number {
    const { body, acceptedAt } = bodies.read(one);
    progress.setApart(one, at);
    tried.add({ ...one, body, acceptedAt, dueAt: acceptedAt, attempts: 0, stoodStill: 0 });
    return body.length;
  }
}
