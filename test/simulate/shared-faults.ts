/**
 * Things that a daemon can do wrong beside others, on the database that they share. Each is put between the daemon and the
 * server, or one of its ports, and the checks have to find it.
 */
import type { Store } from "../../src/model/ports.ts";
import { placeOf } from "../../src/store/postgres/streams.ts";
import { type Fault, inStore, type Statement } from "./faults.ts";

export const SHARED_FAULTS: readonly Fault[] = [
  inStatements("stores calls in a stream that another daemon has taken", {
    what: "WHERE id = $1 AND epoch = $2 FOR KEY SHARE)",
    by: "WHERE id = $1 AND $2::bigint IS NOT NULL FOR KEY SHARE)",
  }),
  inStatements("settles deliveries of a stream that another daemon has taken", {
    what: "h (id, epoch) USING (id, epoch)",
    by: "h (id, epoch) USING (id)",
  }),
  {
    what: "beats by the clock of its machine",
    sql: ({ text, values }, { clock }) => ({
      text: text.replace(/^(UPDATE streams SET beat_at = )the_time\(\)/, `$1${clock.wall()}`),
      values,
    }),
  },
  inStore("leaves behind some of what waits in a stream that it takes", (store) => ({
    readQueue: skipping(store.readQueue),
  })),
  {
    what: "recognises only the messageIds that it has stored itself",
    sql: ({ text, values }, { nth }) => ({ text, values: withOwnKeys(text, values, nth) }),
  },
  inStatements("raises no epoch when it takes a stream", { what: "epoch = epoch + 1", by: "epoch = epoch" }),
  inStore("does not hear of the pauses that others were asked for", ({ changes }) => ({
    changes: (hear, sending) => changes((change) => change.kind === "clocks" || hear(change), sending),
  })),
];

/** Sends another statement. */
function inStatements(what: string, change: { readonly what: string; readonly by: string }): Fault {
  return {
    what,
    sql: ({ text, values }): Statement => ({ text: text.replaceAll(change.what, change.by), values }),
  };
}

/** Every other segment of streams that this daemon did not begin with is passed over. */
function skipping(readQueue: Store["readQueue"]): Store["readQueue"] {
  let own: number | null = null;
  return async (ask) => {
    const page = await readQueue(ask);
    const [one] = page.deliveries;
    if (one) own ??= placeOf(one.ref).stream;
    const last = page.deliveries.at(-1);
    const deliveries = page.deliveries.filter(({ ref, id }) => placeOf(ref).stream === own || id % 512 > 256);
    return { ...(last && { upTo: { dueAt: last.dueAt, id: last.id } }), ...page, deliveries };
  };
}

/** The keys of messageIds are bytes: the first value of one statement, and the third of the other. */
function withOwnKeys(text: string, values: Statement["values"], nth: number): Statement["values"] {
  const at = text.includes("INSERT INTO seen") ? 2 : text.startsWith("SELECT key FROM seen") ? 0 : null;
  if (at === null) return values;
  return values?.map((value, place) => (place === at ? (value as Buffer).map((byte) => byte ^ nth) : value));
}
