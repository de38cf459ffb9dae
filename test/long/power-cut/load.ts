import assert from "node:assert/strict";
import { setTimeout as wait } from "node:timers/promises";
import { type Hook, type Receiver, refuseSome, startReceiver } from "../../binary/receiver.ts";
import { postCall } from "../../binary/world.ts";
import { noise } from "../../model/make.ts";
import { createChance, mix } from "../../simulate/random.ts";

/** So many clients send at once. */
const CLIENTS = 16;
/** Characters of a call's text: most stay in one page of the outbox, some make its log long enough for checkpoints. */
const LENGTHS = [20, 300, 1_000, 9_000, 30_000];
/** A client that was refused sends again after this, in milliseconds. */
const PAUSE = 20;

export const DESTINATIONS = ["crm", "lake"] as const;
export type DestinationName = (typeof DESTINATIONS)[number];

/** The call of this number: the same each time. */
function makeCall(seed: number, nth: number) {
  const length = LENGTHS[mix(seed, nth) % LENGTHS.length] ?? 0;
  return {
    type: "track",
    userId: `user-${nth % 50}`,
    event: "E",
    messageId: `m-${nth}`,
    properties: { text: noise(length, `${seed} ${nth}`) },
  };
}

/** What clients have sent, and what they were answered. */
export type Ledger = {
  readonly acknowledged: ReadonlySet<string>;
  /** Sends the calls below this number that were not taken yet, until all are, or nobody is there to take them. */
  send(ingest: string, limit: number, alive: () => boolean): Promise<void>;
  /** Sends acknowledged calls again: each has to be known. */
  repeat(ingest: string): Promise<void>;
  /** What has come that is not what was sent. */
  wrong(receiver: Receiver): readonly string[];
};

export function createLedger(seed: number): Ledger {
  const acknowledged = new Set<string>();
  const chance = createChance(seed);
  let next = 0;
  const refused: number[] = [];

  return { acknowledged, send, repeat, wrong };

  async function send(ingest: string, limit: number, alive: () => boolean): Promise<void> {
    await Promise.all(Array.from({ length: CLIENTS }, () => sendSome(ingest, limit, alive)));
  }

  async function sendSome(ingest: string, limit: number, alive: () => boolean): Promise<void> {
    while (alive()) {
      const numbers = take(limit);
      if (numbers.length === 0) return;
      if (await post(ingest, numbers)) continue;
      refused.push(...numbers);
      await wait(PAUSE);
    }
  }

  /** What was refused before comes first: it may be in the outbox all the same. */
  function take(limit: number): readonly number[] {
    const count = chance.happens(0.2) ? 1 + chance.below(12) : 1;
    if (refused.length > 0) return refused.splice(0, count);
    const first = next;
    next = Math.min(limit, first + count);
    return Array.from({ length: next - first }, (_, nth) => first + nth);
  }

  /** Whether they were acknowledged. */
  async function post(ingest: string, numbers: readonly number[]): Promise<boolean> {
    const calls = numbers.map((nth) => makeCall(seed, nth));
    const [single] = calls;
    const [path, body] = single && calls.length === 1 ? ["/v1/track", single] : ["/v1/batch", { batch: calls }];
    try {
      const response = await postCall(`${ingest}${path}`, body);
      const { rejected } = (await response.json()) as { rejected?: readonly unknown[] };
      if (response.status !== 200) return false;
      assert.deepEqual(rejected ?? [], []);
      for (const { messageId } of calls) acknowledged.add(messageId);
      return true;
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      return false;
    }
  }

  async function repeat(ingest: string): Promise<void> {
    const last = [...acknowledged].slice(-10).map((id) => makeCall(seed, Number(id.slice(2))));
    if (last.length === 0) return;
    const response = await postCall(`${ingest}/v1/batch`, { batch: last });
    const { accepted, duplicate } = (await response.json()) as { accepted: number; duplicate: number };
    assert.deepEqual({ accepted, duplicate }, { accepted: 0, duplicate: last.length }, "repeats are known");
  }

  function wrong({ hooks, forged }: Receiver): readonly string[] {
    const bodies = hooks.map(({ body }) => JSON.parse(body)).filter(({ messageId }) => messageId?.startsWith("m-"));
    const changed = bodies.filter(({ type, userId, event, messageId, properties }) => {
      const sent = makeCall(seed, Number(messageId.slice(2)));
      return !sameText({ type, userId, event, messageId, properties }, sent);
    });
    return [
      ...changed.map(({ messageId }) => `the body of ${messageId} is not what was sent`),
      ...(forged > 0 ? [`${forged} signatures are not those of their bodies`] : []),
    ];
  }
}

function sameText(one: object, other: object): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** A receiver, and what may come to it again. */
export type Stage = AsyncDisposable & {
  readonly receiver: Receiver;
  /** What the log says was delivered, which it does only once that is durable. */
  readonly said: Set<string>;
  /** What was asked for again. */
  readonly replayed: Set<string>;
  /** What came again though the log of an earlier daemon says that it was delivered. */
  readonly again: readonly string[];
};

/** It refuses some events when they come for the first time. */
export function startStage(): Stage {
  const [said, replayed, again] = [new Set<string>(), new Set<string>(), [] as string[]];
  const receiver = startReceiver((hook: Hook) => {
    if (said.has(hook.messageId) && !replayed.has(hook.messageId)) again.push(hook.messageId);
    return refuseSome(hook);
  });
  return { receiver, said, replayed, again, [Symbol.asyncDispose]: () => receiver[Symbol.asyncDispose]() };
}
