import type { At } from "../../../model/units.ts";
import type { Database } from "../driver.ts";
import type { About } from "../letters.ts";

/** Texts in one step: those of segments have up to 256 events each. */
const STEP = { segments: 100, tried: 1_000 };

/** Ways to look for a messageId in one of the tables that say what events are. */
export type Scan = {
  /** Through what was taken in this time, the oldest first. */
  from(between: Between): Look;
  /** Through all, the newest first. */
  backwards(): Look;
};

/** From the one on, before the other. */
export type Between = { readonly since: At; readonly until: At };

/** Looks at the next ones. Answers the numbers of the events that have it, and whether there are more to be looked at. */
export type Look = (messageId: string) => { readonly numbers: readonly number[]; readonly more: boolean };

/** `about`: of one event in `tried`, of all its events in a segment. */
type Text = { number: number; at: At; about: string };

export function createScan(db: Database, table: "segments" | "tried"): Scan {
  const [key, from] =
    table === "segments"
      ? ["first", "segments CROSS JOIN contents ON contents.segment = segments.first"]
      : ["event", "tried"];
  const columns = `${key} AS number, accepted_at AS at`;
  const upwards = db.prepare<[number, number], Text>(
    `SELECT ${columns}, about FROM ${from} WHERE ${key} >= ? ORDER BY ${key} LIMIT ?`,
  );
  const downwards = db.prepare<[number, number], Text>(
    `SELECT ${columns}, about FROM ${from} WHERE ${key} < ? ORDER BY ${key} DESC LIMIT ?`,
  );
  const nextBelow = db.prepare<[number], Omit<Text, "about">>(
    `SELECT ${columns} FROM ${table} WHERE ${key} <= ? ORDER BY ${key} DESC LIMIT 1`,
  );
  const size = STEP[table];

  return {
    from({ since, until }) {
      let next = firstSince(since);
      return (messageId) => {
        const texts = upwards.all(next, size).filter(({ at }) => at < until);
        // The rows of one event say the same: it does not matter if they lie on both sides of a step's end.
        next = (texts.at(-1)?.number ?? next) + 1;
        return { numbers: find(texts, messageId), more: texts.length === size };
      };
    },
    backwards() {
      let below = Number.MAX_SAFE_INTEGER;
      return (messageId) => {
        const texts = downwards.all(below, size);
        below = texts.at(-1)?.number ?? 0;
        return { numbers: find(texts, messageId), more: texts.length === size };
      };
    },
  };

  function find(texts: readonly Text[], messageId: string): readonly number[] {
    return texts.flatMap((text) => numbersIn(text, messageId, table));
  }

  /** Times grow with numbers, so that halving finds it. */
  function firstSince(at: At): number {
    const newest = nextBelow.get(Number.MAX_SAFE_INTEGER)?.number ?? 0;
    let [low, high] = [0, newest + 1];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const row = nextBelow.get(middle);
      if (row && row.at >= at) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

function numbersIn({ number, about }: Text, messageId: string, table: "segments" | "tried"): readonly number[] {
  // Reading the JSON of all of them would take many times as long.
  if (!about.includes(JSON.stringify(messageId))) return [];
  const parsed = JSON.parse(about);
  const events: readonly About[] = table === "segments" ? parsed : [parsed];
  return events.flatMap(([, , id], nth) => (id === messageId ? [number + nth] : []));
}
