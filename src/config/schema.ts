/**
 * Every key of the config file: its type, its default and what it is for. The checks, the known keys and the hints for
 * misspelt ones come from here, and so can a reference and a JSON Schema.
 */
import * as v from "valibot";
import { LOG_FORMATS, LOG_LEVELS } from "../model/config.ts";
import { CALL_TYPES } from "../model/event.ts";
import { DAY, GB, HOUR, MB, SECOND } from "../model/units.ts";
import { count, duration, flag, list, oneOf, parsed, ruled, size, text } from "./fields.ts";
import { LISTEN_FORMS, parseListen } from "./listen.ts";
import { headerNameFault, headerValueFault, nameFault, URL_START, urlFault } from "./webhook-rules.ts";

export const INGEST_LISTEN = "127.0.0.1:8080";
export const ADMIN_LISTEN = "127.0.0.1:8081";

const LONGEST_KEEP = 36_500 * DAY;
/** More than SQLite can hold, and still an exact number. */
const LARGEST_STORE = 256 * 1_024 * GB;

const listen = parsed(parseListen, `must be ${LISTEN_FORMS}`);
const keep = duration({ min: 0, max: LONGEST_KEEP });

const ingest = v.strictObject({
  listen: v.pipe(
    v.optional(listen, INGEST_LISTEN),
    v.description("Where programs and pages send their calls: host:port, [v6]:port or unix:/path."),
  ),
});

const admin = v.strictObject({
  listen: v.pipe(
    v.optional(listen, ADMIN_LISTEN),
    v.description("Where health, metrics and the operator's API are: host:port, [v6]:port or unix:/path."),
  ),
  token: v.pipe(
    v.optional(text()),
    v.description("What a client of the admin API must send. Required unless it listens on loopback or a Unix socket."),
  ),
});

const outbox = v.strictObject({
  path: v.pipe(
    v.optional(text(), "fairlead.db"),
    v.description("The SQLite file that holds all events; a relative path starts at the config file's folder."),
  ),
  maxSize: v.pipe(
    v.optional(size({ min: MB, max: LARGEST_STORE }), "1GB"),
    v.description("How large the store may grow before calls are refused with 503."),
  ),
  keepDelivered: v.pipe(v.optional(keep, "24h"), v.description("How long delivered events are kept to be looked up.")),
  keepFailed: v.pipe(
    v.optional(keep, "30d"),
    v.description("How long failed and expired deliveries are kept to be looked up."),
  ),
});

const delivery = v.strictObject({
  timeout: v.pipe(
    v.optional(duration({ min: 1, max: 5 * SECOND }), "5s"),
    v.description("How long a receiver may take to answer; 5s at most."),
  ),
  cutoff: v.pipe(
    v.optional(duration({ min: 1, max: 4 * HOUR }), "4h"),
    v.description("How long after its first attempt a delivery is retried; 4h at most."),
  ),
  concurrency: v.pipe(
    v.optional(count({ min: 1, max: 200 }), 64),
    v.description("How many requests may be under way to one webhook at a time; 1 to 200."),
  ),
});

const log = v.strictObject({
  level: v.pipe(v.optional(oneOf(LOG_LEVELS), "info"), v.description("The least important lines that are written.")),
  format: v.pipe(
    v.optional(oneOf(LOG_FORMATS), "auto"),
    v.description("How lines are written; auto chooses by where they go."),
  ),
});

const source = v.strictObject({
  writeKey: v.pipe(text(), v.description("The key by which the source's programs and pages identify themselves.")),
  enabled: v.pipe(v.optional(flag(), true), v.description("Whether its calls are taken; if not, they get a 401.")),
});

const webhook = v.strictObject({
  url: v.pipe(
    ruled(urlFault, URL_START),
    v.description("The full URL that gets a POST for each event, with http:// or https://."),
  ),
  headers: v.pipe(
    v.optional(v.record(ruled(headerNameFault), ruled(headerValueFault)), {}),
    v.description("Headers that every request to this URL carries."),
  ),
});

const destination = v.strictObject({
  enabled: v.pipe(v.optional(flag(), true), v.description("Whether new events go to it.")),
  sources: v.pipe(
    v.optional(list(text(), { empty: "must name a source: leave it out for all of them" })),
    v.description("The sources whose events it gets; all of them when left out."),
  ),
  types: v.pipe(
    v.optional(list(oneOf(CALL_TYPES), { empty: "must name a type: leave it out for all six" })),
    v.description("The calls it gets; all six when left out. Delete notifications always go out."),
  ),
  historical: v.pipe(
    v.optional(oneOf(["accept", "skip"]), "accept"),
    v.description("Whether it gets events that were more than 24h old when they were received."),
  ),
  webhooks: v.pipe(
    list(webhook, { empty: "must have an entry with a url", max: 5, form: "[{ url: https://example.com }]" }),
    v.description("One to five URLs, of which any one has to accept an event."),
  ),
  sharedSecret: v.pipe(
    v.optional(v.union([text(), list(text(), { empty: "must hold a secret" })], "must be text or a list of texts")),
    v.description("Signs every request in X-Signature. In a list, the first one signs."),
  ),
});

/** The whole file. */
export const configSchema = v.strictObject({
  ingest: v.pipe(v.optional(ingest, {}), v.description("The API that takes calls.")),
  admin: v.pipe(v.optional(admin, {}), v.description("The API for operators.")),
  outbox: v.pipe(v.optional(outbox, {}), v.description("The store that holds events until they are delivered.")),
  delivery: v.pipe(v.optional(delivery, {}), v.description("How events are sent.")),
  log: v.pipe(v.optional(log, {}), v.description("What the daemon writes about itself.")),
  sources: v.pipe(v.optional(v.record(ruled(nameFault), source), {}), v.description("What sends calls, by name.")),
  destinations: v.pipe(
    v.optional(v.record(ruled(nameFault), destination), {}),
    v.description("What gets events, by name."),
  ),
});

/** What a file says once it was checked and its defaults were filled in. */
export type Checked = v.InferOutput<typeof configSchema>;
