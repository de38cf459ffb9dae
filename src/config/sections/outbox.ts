import * as v from "valibot";
import { DAY, GB, MB } from "../../model/units.ts";
import { duration, path, size } from "../fields.ts";
import { key } from "../manual.ts";

const LONGEST_KEEP = 36_500 * DAY;
/** More than SQLite can hold, and still an exact number. */
const LARGEST_STORE = 256 * 1_024 * GB;

const keep = duration({ min: 0, max: LONGEST_KEEP });

export const outbox = v.strictObject({
  path: key(v.optional(path(), "fairlead.db"), {
    description: "An SQLite file, made on the first start. A relative path starts at the config file's folder.",
    example: "/var/lib/fairlead/fairlead.db",
    more: "Put it on a disk that keeps what it has written: Fairlead answers a call once its events are on it.",
  }),
  maxSize: key(v.optional(size({ min: MB, max: LARGEST_STORE }), "1GB"), {
    description: "How large the store may grow before new calls are refused with 503.",
    example: "4GB",
    more: `What waits is still delivered then, and is never dropped; what is settled goes before its time from nine
      tenths of that size on. Four hours of your busiest traffic should fit, and 21 bytes for each call of the last
      day.`,
  }),
  freeDisk: key(v.optional(size({ min: 0, max: LARGEST_STORE }), "64MB"), {
    description: "How much of its disk must stay free: below that, new calls are refused with 503.",
    example: "512MB",
    more: `Delivery goes on by what is left, and delivered events go before their time. Calls are taken again once a quarter
      more than that is free. More if other programs fill that disk fast; 0 switches it off.`,
  }),
  keepDelivered: key(v.optional(keep, "24h"), {
    description: "How long delivered events are kept to be looked up.",
    example: "7d",
    more: `Events that came at the same moment are kept together, until none of them waits any more and the last was
      delivered so long ago. Shorter saves space, 0s keeps none.`,
  }),
  keepFailed: key(v.optional(keep, "30d"), {
    description: "How long failed and expired deliveries are kept to be looked up.",
    example: "90d",
    more: "Longer if nobody looks every month.",
  }),
});
