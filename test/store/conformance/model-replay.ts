import assert from "node:assert/strict";
import type { At } from "../../../src/model/units.ts";
import type { TestStore } from "../harness.ts";
import { type Expected, type Key, keyOf, waitingIn, waits } from "./model.ts";

/** All that is settled and still known. */
function settledIn({ segments, tried }: Expected): readonly string[] {
  const rows = [...tried].flatMap(([key, row]) => (waits(row) ? [] : [key]));
  return [...[...segments.values()].flatMap(({ delivered }) => [...delivered.keys()]), ...rows];
}

function expectReplay(expected: Expected, place: Key, now: At): "replayed" | "hurried" | "due" | null {
  const key = keyOf(place);
  const waiting = waitingIn(expected).find((one) => keyOf(one) === key);
  if (waiting) return hurry(expected, key, now);
  if (!settledIn(expected).includes(key)) return null;
  const segment = [...expected.segments.values()].find(({ delivered }) => delivered.has(key));
  const known = expected.tried.get(key)?.delivery ?? expected.handed.get(key);
  if (!known) return null;
  segment?.delivered.delete(key);
  segment?.apart.add(key);
  const anew = {
    attempts: 0,
    firstAttemptAt: null,
    attemptedAt: null,
    stoodStill: 0,
    finals: [],
    dueAt: now,
    replayedAt: now,
  };
  expected.tried.set(key, { delivery: { ...known, ...anew }, last: null });
  return "replayed";
}

function hurry({ tried }: Expected, key: string, now: At): "hurried" | "due" {
  const row = tried.get(key);
  if (!row || row.delivery.dueAt <= now) return "due";
  tried.set(key, { ...row, delivery: { ...row.delivery, dueAt: now } });
  return "hurried";
}

/** `settled`: one that is; otherwise any that there ever was. */
export type Replaying = { readonly choice: number; readonly settled: boolean };

/** Has one sent again, checks what is answered, and expects what follows from it. */
export async function replay({ choice, settled }: Replaying, s: TestStore, expected: Expected): Promise<void> {
  const keys = settled ? settledIn(expected) : [...expected.handed.keys()];
  const place = expected.handed.get(keys[choice % Math.max(1, keys.length)] ?? "");
  if (place) assert.equal(await s.store().replay.one(place), expectReplay(expected, place, s.clock.now()));
}
