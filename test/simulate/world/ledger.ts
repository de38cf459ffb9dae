import type { At } from "../../../src/model/units.ts";
import { type Call, expectedBody, takersOf } from "./calls.ts";
import type { DestinationName, Shape, SourceName } from "./shape.ts";

/** A call that was sent, and what is owed for it. */
export type Entry = {
  readonly source: SourceName;
  readonly messageId: string;
  readonly userId: string | null;
  /** What every receiver is to get. */
  readonly body: string;
  /** By the clock of rows, and the step. */
  readonly at: At;
  readonly step: number;
  /** Who is owed it. What is moved is owed to another one. */
  readonly takers: Set<DestinationName>;
  /** Acknowledged as new: from here on it must never be gone. */
  acked: boolean;
  /** Refused, with a fault: it must not go out. */
  refused: boolean;
  /** How often it was sent, and not answered yet. */
  open: number;
  /** It came and went in one step, and was never seen in the outbox. */
  gone: boolean;
  /** The number of its event, once it was seen in the outbox. */
  event: number | null;
};

/** All that was ever sent. */
export type Ledger = {
  note(call: Call, source: SourceName, moment: SendMoment): Entry;
  byBody(body: string): Entry | undefined;
  /** Of this messageId, in the order in which they were sent. */
  of(source: string, messageId: string): readonly Entry[];
  all(): readonly Entry[];
};

export type SendMoment = { readonly at: At; readonly wall: At; readonly step: number; readonly shape: Shape };

export function createLedger(): Ledger {
  const byBody = new Map<string, Entry>();
  const byId = new Map<string, Entry[]>();
  return {
    note(call, source, { at, wall, step, shape }) {
      const body = expectedBody(call, source, wall);
      const known = byBody.get(body);
      // Sent again in the same moment: this time it may be taken.
      if (known) return Object.assign(known, { refused: false, open: known.open + 1 });
      const takers = new Set(takersOf(call, source, { shape, wall }));
      const { messageId } = call;
      const userId = typeof call.userId === "string" ? call.userId : null;
      const state = { acked: false, refused: false, open: 1, gone: false, event: null };
      const entry: Entry = { source, messageId, userId, body, at, step, takers, ...state };
      byBody.set(body, entry);
      byId.set(keyOf(source, messageId), [...(byId.get(keyOf(source, messageId)) ?? []), entry]);
      return entry;
    },
    byBody: (body) => byBody.get(body),
    of: (source, messageId) => byId.get(keyOf(source, messageId)) ?? [],
    all: () => [...byBody.values()],
  };
}

function keyOf(source: string, messageId: string): string {
  return `${source} ${messageId}`;
}
