// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references, as the example file shows them.
/**
 * Every key of the config file: its type, its default, its meaning, and when to change it. The checks, the known keys and
 * the hints for misspelt ones come from here; so do config.example.yaml, docs/reference/config/ and the JSON Schema.
 */
import * as v from "valibot";
import { LOG_FORMATS, LOG_LEVELS } from "../model/config.ts";
import { CALL_TYPES } from "../model/event.ts";
import { DAY, HOUR, KB, MB, SECOND } from "../model/units.ts";
import { address, count, duration, flag, list, network, oneOf, path, rate, ruled, size, text } from "./fields.ts";
import { conditions, namePattern, share } from "./filter.ts";
import { key } from "./key.ts";
import { notifier } from "./notify-schema.ts";
import { outbox } from "./outbox-schema.ts";
import { source } from "./source-schema.ts";
import { eventBody } from "./template.ts";
import { INCLUDE, NAME, ORIGIN, TOKEN } from "./text-rules.ts";
import { signing, webhook } from "./webhook-schema.ts";

/** Client libraries count on these limits (SPEC.md 8): lower ones would lose calls that they think small enough. */
export const MAX_CALL = 32 * KB;
export const MAX_BATCH = 500 * KB;

export const INGEST_LISTEN = "127.0.0.1:8080";

const tls = v.strictObject({
  cert: key(path(), {
    description: "The certificate file, as PEM. A relative path starts at the config file's folder.",
    more: "The server's own certificate comes first, then those of its issuers: with Let's Encrypt, fullchain.pem.",
    example: "/etc/fairlead/tls/fullchain.pem",
  }),
  key: key(path(), {
    description: "The file of the certificate's private key, as PEM without a passphrase.",
    more: "Only Fairlead's user should be able to read it.",
    example: "/etc/fairlead/tls/privkey.pem",
  }),
});

const networks = list(network(), { of: "addresses or networks", example: "[127.0.0.1, 10.0.0.0/8]" });
const origins = list(ruled(ORIGIN), { of: "origins", example: "[https://example.com]" });

const ingest = v.strictObject({
  listen: key(v.optional(address(), INGEST_LISTEN), {
    description: "Where it listens: host:port, [v6]:port or unix:/path.",
    example: "unix:/run/fairlead/ingest.sock",
    more: `Behind a reverse proxy on this machine, keep it on loopback, or use a socket as in unix:/run/fairlead/ingest.sock.
      0.0.0.0:8080 lets other machines reach it without a proxy.`,
  }),
  reusePort: key(v.optional(flag(), false), {
    description: "Whether several daemons of this user may listen on the same port of this machine.",
    example: true,
    more: `The system gives each a share of the connections, so that they use all cores of the machine. For daemons that share
      outbox.url (docs/cluster/setup.md). Each needs its own admin.listen. It does not work with ingest.tls or on a Unix socket.`,
  }),
  tls: key(v.optional(tls), {
    description: "Serves HTTPS with this certificate. Plain HTTP if left out.",
    leftOut: "plain HTTP",
    more: `Leave it out behind a reverse proxy: the proxy speaks TLS. When the files are renewed, new connections get the
      new certificate.`,
  }),
  trustedProxies: key(v.optional(networks, []), {
    description: "The proxies whose X-Forwarded-For header is trusted, as addresses or networks.",
    example: ["127.0.0.1", "10.0.0.0/8"],
    more: `Behind a reverse proxy, name its address, such as 127.0.0.1 for one on this machine. Otherwise all clients seem to
      have that address. \`[10.0.0.0/8, fd00::/8]\` names networks. What connects to a Unix socket is always trusted.`,
  }),
  corsOrigins: key(v.optional(origins, ["*"]), {
    description: "The pages that may send calls, by their origins. * allows all sites, an empty list none.",
    example: ["https://example.com", "https://*.example.com"],
    more: `\`[https://example.com, https://*.example.com]\` allows a site and all of its subdomains. An app in a web view
      has an origin such as capacitor://localhost, and a sandboxed frame "null". Calls with an Origin that is not listed
      are refused. Programs send no Origin and are not affected.`,
  }),
  maxCall: key(v.optional(size({ min: MAX_CALL, max: MB }), "32KB"), {
    description: "The largest call that is accepted, as compact JSON, including what its batch adds to it.",
    example: "256KB",
    more: `Receivers get bodies of this size, or twice that if traits are in two places. Up to 200 of them are sent at
      once, so memory grows with it.`,
  }),
  maxBatch: key(v.optional(size({ min: MAX_BATCH, max: 8 * MB }), "500KB"), {
    description: "The largest request that is accepted, decompressed.",
    example: "4MB",
    more: `RudderStack's libraries send larger requests by default, and drop refused ones (docs/send/rudderstack.md). A proxy in
      front has its own limit, such as client_max_body_size of nginx.`,
  }),
});

export const ADMIN_LISTEN = "127.0.0.1:8081";

const admin = v.strictObject({
  listen: key(v.optional(address(), ADMIN_LISTEN), {
    description: "Where it listens: host:port, [v6]:port or unix:/path.",
    example: "unix:/run/fairlead/admin.sock",
    more: `Change it if another program uses the port, or to let a monitoring system on another machine read the metrics. It
      then needs a token.`,
  }),
  token: key(v.optional(ruled(TOKEN)), {
    description: "The token that clients must send. Required unless it listens on loopback or a Unix socket.",
    more: `They send \`Authorization: Bearer TOKEN\`, so it may have ASCII letters, digits and punctuation, and no spaces.
      Make one with \`openssl rand -hex 16\`.`,
    example: "${ADMIN_TOKEN}",
    leftOut: "none",
  }),
  readToken: key(v.optional(ruled(TOKEN)), {
    description: "A second token, for those who may read everything and change nothing.",
    more: `With it, every request but a GET is refused, and so is a copy of the outbox. It shows all events with their
      personal data.`,
    example: "${ADMIN_READ_TOKEN}",
    leftOut: "none",
  }),
  dashboard: key(v.optional(flag(), true), {
    description: "Whether its address shows the dashboard in a browser.",
    more: "The page holds nothing secret, and asks for the token. No other web page may use the API.",
    example: false,
  }),
});

/** SPEC.md 8. A destination may have more by its own entry, and a warning with it. */
export const SPECIFIED = { timeout: 5 * SECOND, cutoff: 4 * HOUR } as const;

const concurrency = count({ min: 1, max: 200 });

const delivery = v.strictObject({
  timeout: key(v.optional(duration({ min: 1, max: SPECIFIED.timeout }), "5s"), {
    description: "How long a receiver may take to answer; at most 5s.",
    example: "2s",
    more: `Lower it if your receivers are fast, to notice a hanging one sooner. A single destination may set up to 30s.`,
  }),
  cutoff: key(v.optional(duration({ min: 1, max: SPECIFIED.cutoff }), "4h"), {
    description: "How long after its first attempt a delivery is retried; at most 4h.",
    example: "30m",
    more: "Lower it if late events are worth nothing. A single destination may set up to 7d.",
  }),
  concurrency: key(v.optional(concurrency, 64), {
    description: "How many requests may be under way to one webhook at a time, from 1 to 200.",
    example: 8,
    more: `Lower it for a receiver that cannot handle that many. Fairlead starts with a few requests, and goes up to this number
      while the receiver keeps answering.`,
  }),
});

const log = v.strictObject({
  level: key(v.optional(oneOf(LOG_LEVELS, { warn: "warning" }), "info"), {
    description: "How much is logged: debug, info, warning or error.",
    example: "warning",
    more: "Each level includes those after it. warn is the same as warning.",
  }),
  format: key(v.optional(oneOf(LOG_FORMATS), "auto"), {
    description: "text for people, json or logfmt for programs. auto chooses by where the lines go.",
    example: "json",
  }),
});

const sourceNames = list(text(), { of: "sources", empty: "must name a source: leave it out for all of them" });
const types = list(oneOf(CALL_TYPES), { of: "call types", empty: "must name a type: leave it out for all six" });
const names = list(namePattern(), { of: "patterns", empty: "must have a pattern: leave it out for all", max: 100 });
const oneUrl = "[{ url: https://example.com }]";
const webhooks = list(webhook, { of: "webhooks", empty: "must have an entry with a url", max: 5, example: oneUrl });

const destination = v.strictObject({
  enabled: key(v.optional(flag(), true), {
    description: "Whether it gets new events.",
    example: false,
    more: "With false, deliveries that already wait are kept.",
  }),
  sources: key(v.optional(sourceNames), {
    description: "The sources that it gets events from. All of them if left out.",
    example: ["website"],
    leftOut: "all sources",
  }),
  types: key(v.optional(types), {
    description: `Which calls it gets: ${CALL_TYPES.join(", ")}. All six if left out.`,
    more: "It always gets the notices that ask to delete a user.",
    example: ["identify", "track"],
    leftOut: "all six",
  }),
  historical: key(v.optional(oneOf(["accept", "skip"]), "accept"), {
    description: "Whether it gets events that were more than 24 hours old when they arrived: accept or skip.",
    example: "skip",
    more: "An import of history sends such events.",
  }),
  events: key(v.optional(names), {
    description: "Which track calls it gets, by name: patterns with *. A ! before a pattern excludes names.",
    more: `A name that matches a pattern with ! is excluded. Otherwise it must match one of the other patterns, if there are any.
      Calls of other types have no such name and are not affected: use \`types\` for them. \`\\*\` is a literal star.`,
    example: ["Order *", "!Order Viewed"],
    leftOut: "all names",
  }),
  where: key(v.optional(conditions()), {
    description: "Which calls it gets, by their content: conditions on fields, all of which must hold.",
    more: `A field is \`properties.total\`, \`context.country\`, \`traits.plan\`, \`userId\` and so on. Its condition is a value, a
      list of values, or a map with \`not\`, \`gt\`, \`gte\`, \`lt\`, \`lte\` (numbers and times), \`exists: true\`, and
      \`matches\` (a pattern with *, or several). \`any\` and \`all\` take lists of such maps, \`not\` takes one. 7 is not "7". A
      field that is a list meets a condition if one of its items does. A missing field meets only \`not\` and
      \`exists: false\`. It always gets the notices that ask to delete a user. \`fairlead route\` tries a call
      (docs/configure/routing.md).`,
    example: { "properties.total": { gte: 100 }, "context.country": ["DE", "AT"] },
    leftOut: "all calls",
  }),
  sample: key(v.optional(share()), {
    description: "The share of users whose calls it gets, as in 10%.",
    more: `It gets all calls of a user or none, and the same users after a restart. Other destinations have other samples.`,
    example: "10%",
    leftOut: "all users",
  }),
  body: eventBody,
  webhooks: key(webhooks, {
    description: "One to five URLs that stand in for each other.",
    more: `Each event goes to all of them at once, and the first 2xx completes it. If each of several receivers must get every
      event, define several destinations.`,
  }),
  ...signing,
  timeout: key(v.optional(duration({ min: 1, max: 30 * SECOND })), {
    description: "How long its webhooks may take to answer, up to 30s; in place of delivery.timeout.",
    example: "3s",
    more: `\`fairlead check\` warns above 5s, which is beyond the specification. Raise it for a receiver that does slow work
      before it answers. A hanging request then keeps its slot for longer.`,
    leftOut: "delivery.timeout",
  }),
  cutoff: key(v.optional(duration({ min: 1, max: 7 * DAY })), {
    description: "How long after its first attempt a delivery to it is retried, up to 7d; in place of delivery.cutoff.",
    example: "1h",
    more: `\`fairlead check\` warns above 4h, which is beyond the specification. Retries continue every ten minutes. Waiting
      deliveries take space in the outbox: raise outbox.maxSize with it.`,
    leftOut: "delivery.cutoff",
  }),
  concurrency: key(v.optional(concurrency), {
    description:
      "How many requests may be under way to each of its webhooks, from 1 to 200; in place of delivery.concurrency.",
    example: 8,
    leftOut: "delivery.concurrency",
  }),
  rate: key(v.optional(rate({ max: 10_000, none: "to send nothing, disable or pause it" })), {
    description: "How many requests all its webhooks together get at most, in a second, a minute or an hour.",
    example: "50/s",
    more: `For a receiver that allows no more. First attempts, retries and probes all count. With five webhooks, an event takes
      five requests. A delivery that has to wait has not failed. Daemons that share outbox.url divide the rate.`,
    leftOut: "as fast as it takes them",
  }),
  burst: key(v.optional(count({ min: 1, max: 1_000_000 })), {
    description: "How many requests may go out at once after a rest. Needs a rate.",
    example: 100,
    more: `In any period, the requests are at most this number plus what the rate allows. 1 spreads them evenly. It must be
      at least the number of webhooks, which get an event together.`,
    leftOut: "what the rate allows in a second, and a request for each webhook at least",
  }),
  order: key(v.optional(oneOf(["none", "user"]), "none"), {
    description:
      "Whether the deliveries of one user go out one after the other, in the order of acceptance: none or user.",
    example: "user",
    more: `With user, a delivery waits until all earlier ones of its user are delivered or given up. Other users do not wait.
      Use it only for a receiver that needs it: an event that it refuses for hours delays the later ones of that user.`,
  }),
});

const files = list(ruled(INCLUDE), { of: "paths or patterns", max: 100, example: "[conf.d/*.yaml]" });

export const configSchema = v.strictObject({
  ingest: key(v.optional(ingest, {}), {
    description: "The API that accepts calls from programs and pages.",
  }),
  admin: key(v.optional(admin, {}), {
    description: "The API for operators: health, metrics and what happened to each event.",
    more: "Keep it private.",
  }),
  outbox: key(v.optional(outbox, {}), {
    description: "The store that holds events until they are delivered.",
  }),
  delivery: key(v.optional(delivery, {}), {
    description: "How events are sent.",
  }),
  log: key(v.optional(log, {}), {
    description: "What the daemon logs.",
  }),
  sources: key(v.optional(v.record(ruled(NAME), source), {}), {
    description: "What sends calls, by a name of your choice: 1 to 64 letters, digits, hyphens, underscores and dots.",
    name: "website",
  }),
  destinations: key(v.optional(v.record(ruled(NAME), destination), {}), {
    description: "What gets events, by a name of your choice.",
    more: "A call's `integrations` can turn off a destination by that name.",
    name: "crm",
  }),
  include: key(v.optional(files), {
    description: "Further files with sources, destinations and notify, as paths or patterns.",
    more: `In the last part of a pattern, * stands for any text and ? for one character. Hidden files and names that end in ~
      do not match. An included file may have only these three keys, and no name may be set in two files. A pattern may match
      no file, but its folder must exist. A file that is named without a pattern must exist. Relative paths start at the
      config file's folder, even in included files (docs/configure/index.md).`,
    example: ["conf.d/*.yaml"],
    leftOut: "no other file",
  }),
  notify: key(v.optional(v.record(ruled(NAME), notifier)), {
    description: "Webhooks that are notified of problems, by a name of your choice (docs/configure/notify.md).",
    more: `Notifications are stored, signed and retried like deliveries, as those of a destination \`notify:NAME\`. These
      webhooks get no events.`,
    leftOut: "no notifications",
    name: "ops",
  }),
});

/** What an included file may have: the maps that are put together from all files. */
export const MERGEABLE = ["sources", "destinations", "notify"] as const;

/** An included file. */
export const includedSchema = v.pick(configSchema, MERGEABLE);

/** The values of a file, checked and with the defaults filled in. */
export type Checked = v.InferOutput<typeof configSchema>;
