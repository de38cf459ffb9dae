import * as v from "valibot";
import type { DeliveryState } from "../../model/delivery.ts";
import { CALL_TYPES, type EventType } from "../../model/event.ts";
import type { Timeline } from "../../model/timeline.ts";
import { type At, formatTime } from "../../model/units.ts";

export const STATES = ["waiting", "delivered", "failed", "expired"] as const satisfies readonly DeliveryState[];
export const TYPES = [...CALL_TYPES, "delete"] as const satisfies readonly EventType[];

export const success = v.literal(true);
export const time = v.pipe(v.string(), v.isoTimestamp());
export const count = v.pipe(v.number(), v.integer(), v.minValue(0));
export const text = v.nullable(v.string());

export function timeOf(at: At | null): string | null {
  return at === null ? null : formatTime(at);
}

/** A time in a row. */
export function wallTime(at: At, { toWall }: Pick<Timeline, "toWall">): string {
  return formatTime(toWall(at));
}

export function wallTimeOf(at: At | null, timeline: Pick<Timeline, "toWall">): string | null {
  return at === null ? null : wallTime(at, timeline);
}

/** The same, with what it means. */
export function about<const S extends v.GenericSchema>(meaning: string, shape: S) {
  return v.pipe(shape, v.description(meaning));
}

/** The same under a name of its own, by which all that has it within refers to it. */
export function named<const S extends v.GenericSchema>(name: string, shape: S) {
  return v.pipe(shape, v.title(name));
}
