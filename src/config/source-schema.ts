// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references, as the example file shows them.
/** The keys of a source (`schema.ts`). */
import * as v from "valibot";
import { IP_POLICIES, SOURCE_TYPES } from "../model/config.ts";
import { MB } from "../model/units.ts";
import { count, flag, oneOf, portion, rate, text } from "./fields.ts";
import { key } from "./key.ts";

export const source = v.strictObject({
  writeKey: key(text(), {
    description: "The key that its pages and programs send: any text, different for each source.",
    more: `Everyone can read it in a browser, so give your servers a source of their own. Make a key with
      \`openssl rand -hex 16\`.`,
    example: "${WEBSITE_KEY:-change-me}",
  }),
  enabled: key(v.optional(flag(), true), {
    description: "Whether its calls are accepted.",
    example: false,
    more: "With false they are answered 401, and the rest of the entry is kept for later.",
  }),
  type: key(v.optional(oneOf(SOURCE_TYPES), "auto"), {
    description: "What sends its calls: web, mobile, server, or auto, which decides for each call.",
    example: "server",
    more: `In calls from web and mobile, and in those whose context.direct is true, context.ip and context.userAgent are
      filled in from the connection, which is the user's. In calls from a server they are not, because its address says
      nothing about its users. auto decides by the call's library, its channel, or an Origin header.`,
  }),
  ip: key(v.optional(oneOf(IP_POLICIES), "keep"), {
    description: "What happens to users' IP addresses: keep, truncate or drop.",
    example: "truncate",
    more: `With truncate, the last octet of an IPv4 address and the last 80 bits of an IPv6 address become zero, even if the
      client sent the address itself. With drop, context.ip is removed.`,
  }),
  rate: key(v.optional(rate({ max: 1_000_000, none: "to accept nothing, disable it" })), {
    description: "How many calls are accepted from it at most, in a second, a minute or an hour.",
    example: "100/s",
    more: `For public keys, such as those of web pages. Above it, requests are answered 429 with a Retry-After, and client
      libraries send them again. Each call of a batch counts. A batch is accepted whole, and the next request waits until the
      excess is made up for. Daemons that share outbox.url divide the rate (docs/configure/limits.md).`,
    leftOut: "as fast as they come",
  }),
  burst: key(v.optional(count({ min: 1, max: 1_000_000 })), {
    description: "How many calls are accepted at once after a rest. Needs a rate.",
    example: 1_000,
    leftOut: "what the rate allows in a second, and 1 at least",
  }),
  maxWaiting: key(v.optional(portion({ min: MB })), {
    description: "How much of it may wait for delivery, as a share of outbox.maxSize or a size: 20% or 200MB.",
    example: "20%",
    more: `Above it, its requests are answered 429 until a tenth of that is delivered, so that one source cannot fill the outbox for
      all. The size of the waiting bodies counts, plus half a KB each, once for each destination. Daemons that share
      outbox.url divide it.`,
    leftOut: "as much as the outbox takes",
  }),
});
