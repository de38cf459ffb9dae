import type { PostRequest } from "../../../src/model/ports.ts";
import type { Asked } from "../world/tracks.ts";
import { meet, type World, wrong } from "../world/world.ts";
import { checkContent } from "./content.ts";
import { checkDeleted } from "./deleted.ts";
import { checkHeaders } from "./headers.ts";
import { checkOnce } from "./once.ts";
import { checkServed } from "./served.ts";
import { checkFirst } from "./turns.ts";
import { checkWait } from "./waits.ts";

/** What a receiver knows of a request when it comes. */
export type Judged = { readonly request: Omit<PostRequest, "signal">; readonly asked: Asked; readonly world: World };

/** Answers what is wrong with a request, or null. */
export type Judge = (judged: Judged) => string | null;

const JUDGES: readonly Judge[] = [
  checkContent,
  checkHeaders,
  checkServed,
  checkWait,
  checkOnce,
  checkDeleted,
  checkFirst,
];

/** Judges a request at the moment when it comes. */
export function judgeRequest(world: World, request: Judged["request"], asked: Asked): void {
  meet(world, "requests");
  for (const judge of JUDGES) {
    const found = judge({ request, asked, world });
    if (found) wrong(world, `${asked.track.id} to ${asked.track.destination}: ${found}`);
  }
}
