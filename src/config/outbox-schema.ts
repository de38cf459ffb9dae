// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references, as the example file shows them.
/** The keys of the outbox (`schema.ts`). */
import * as v from "valibot";
import { DAY, GB, MB } from "../model/units.ts";
import { count, duration, path, ruled, size } from "./fields.ts";
import { key } from "./key.ts";
import { CONNECTIONS, POSTGRES_URL } from "./postgres.ts";

const LONGEST_KEEP = 36_500 * DAY;
/** More than SQLite can hold, and still an exact number. */
const LARGEST_STORE = 256 * 1_024 * GB;

const keep = duration({ min: 0, max: LONGEST_KEEP });

/** The key of a client certificate, for the database and for webhooks. */
export const clientKey = key(v.optional(path()), {
  description: "The file of the client certificate's private key, as PEM without a passphrase.",
  more: "Only Fairlead's user should be able to read it.",
  example: "/etc/fairlead/tls/client-key.pem",
  leftOut: "none",
});

const databaseTls = v.strictObject({
  ca: key(v.optional(path()), {
    description: "A file with the authorities that may have issued the server's certificate, as PEM.",
    more: "Without it, the public authorities are trusted. A relative path starts at the config file's folder.",
    example: "/etc/fairlead/tls/authority.pem",
    leftOut: "the public authorities",
  }),
  cert: key(v.optional(path()), {
    description: "The file of a client certificate, for a server that requires one, as PEM.",
    example: "/etc/fairlead/tls/client.pem",
    leftOut: "none",
  }),
  key: clientKey,
});

export const outbox = v.strictObject({
  path: key(v.optional(path(), "fairlead.db"), {
    description: "An SQLite file, created on the first start. A relative path starts at the config file's folder.",
    example: "/var/lib/fairlead/fairlead.db",
    more: "Put it on a durable disk. Fairlead answers a call after its events are stored there.",
    unless: "url",
  }),
  url: key(v.optional(ruled(POSTGRES_URL)), {
    description: "A PostgreSQL database instead of outbox.path, which several daemons may share.",
    more: `Write postgres://USER:PASSWORD@HOST:PORT/DATABASE. Missing parts come from PGHOST, PGUSER (or USER), PGPASSWORD,
      PGPASSFILE and the other variables of PostgreSQL's own programs. In the password, write %25 for %. For a Unix socket, add
      ?host=/run/postgresql. sslmode is disable, require, verify-ca or verify-full.`,
    example: "postgres://fairlead:${file:/etc/fairlead/db-password}@db.example.com/fairlead?sslmode=verify-full",
    leftOut: "outbox.path counts",
  }),
  tls: key(v.optional(databaseTls), {
    description: "Certificates for the connections to outbox.url. If outbox.url has no sslmode, it is verify-full.",
    leftOut: "as sslmode says, with the public authorities",
  }),
  connections: key(v.optional(count({ min: 2, max: 100 })), {
    description: "How many connections to outbox.url this daemon may open, from 2 to 100; 10 if left out.",
    example: 20,
    more: "The connections of all daemons together must stay below the server's max_connections.",
    leftOut: String(CONNECTIONS),
  }),
  maxSize: key(v.optional(size({ min: MB, max: LARGEST_STORE }), "1GB"), {
    description: "How large the store may grow before new calls are refused with 503.",
    example: "4GB",
    more: `Waiting events are still delivered then, and never dropped. From nine tenths of that size on, delivered and failed
      events are removed early. It should hold four hours of your busiest traffic, and 21 bytes for each call of the last day
      (docs/operate/capacity.md). In a database, only the events count, and not the space that PostgreSQL needs around them.`,
  }),
  freeDisk: key(v.optional(size({ min: 0, max: LARGEST_STORE }), "64MB"), {
    description: "How much of its disk must stay free. Below that, new calls are refused with 503.",
    example: "512MB",
    more: `Delivery continues in the space that is left, and delivered events are removed early. Calls are accepted again when
      a quarter more than that is free. Raise it if other programs fill that disk fast; 0 turns it off. Only for
      outbox.path: Fairlead cannot see the disk of PostgreSQL.`,
    unless: "url",
  }),
  keepDelivered: key(v.optional(keep, "24h"), {
    description: "How long delivered events are kept for lookup.",
    example: "7d",
    more: `Events that arrived at the same moment are stored together. They are removed when none of them is waiting and the
      last was delivered that long ago. Lower it to save space; 0s keeps none.`,
  }),
  keepFailed: key(v.optional(keep, "30d"), {
    description: "How long failed and expired deliveries are kept for lookup.",
    example: "90d",
    more: "Raise it if you look at them less than once a month.",
  }),
});
