// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references, as the example file shows them.
import * as v from "valibot";
import { CALL_TYPES } from "../../model/event.ts";
import { flag, list, oneOf, text } from "../fields.ts";
import { form } from "../form.ts";
import { key } from "../manual.ts";
import { webhook } from "./webhook.ts";

const sources = list(text(), { of: "sources", empty: "must name a source: leave it out for all of them" });
const types = list(oneOf(CALL_TYPES), { of: "call types", empty: "must name a type: leave it out for all six" });
const webhooks = list(webhook, {
  of: "webhooks",
  empty: "must have an entry with a url",
  max: 5,
  example: "[{ url: https://example.com }]",
});
const secrets = v.pipe(
  v.union([text(), list(text(), { of: "texts", empty: "must hold a secret" })], "must be text or a list of texts"),
  form("text, or list of texts"),
);

/** One entry of `destinations`. */
export const destination = v.strictObject({
  enabled: key(v.optional(flag(), true), {
    description: "Whether it gets new events.",
    example: false,
    more: "false keeps those that wait already.",
  }),
  sources: key(v.optional(sources), {
    description: "Which sources it gets events from. All of them when left out.",
    example: ["website"],
    leftOut: "all sources",
  }),
  types: key(v.optional(types), {
    description: `Which calls it gets: ${CALL_TYPES.join(", ")}. All six when left out.`,
    more: "Notices that a user is to be deleted always go out.",
    example: ["identify", "track"],
    leftOut: "all six",
  }),
  historical: key(v.optional(oneOf(["accept", "skip"]), "accept"), {
    description: "Whether it gets events that were more than 24 hours old when they came in: accept or skip.",
    example: "skip",
    more: "An import of history sends such events.",
  }),
  webhooks: key(webhooks, {
    description: "One to five URLs that stand in for each other.",
    more: `Each event goes to all of them at once, and the first 2xx settles it. For several receivers that are each to
      get every event, make several destinations.`,
  }),
  sharedSecret: key(v.optional(secrets), {
    description: "Signs each request: X-Signature is the HMAC-SHA1 of the body in hexadecimal.",
    more: `By it the receiver knows that a request comes from here. Not signed when left out. While you replace a
      secret, write a list: the first one signs.`,
    example: "${credential:crm-secret}",
    leftOut: "not signed",
  }),
  standardWebhooks: key(v.optional(flag(), false), {
    description: "Whether each request carries the headers of Standard Webhooks beside X-Signature.",
    more: `They are webhook-id, webhook-timestamp and webhook-signature, with an HMAC-SHA256 by each sharedSecret, for
      receivers that use a library of that standard. A secret that begins with whsec_ is base64 to them.`,
    example: true,
  }),
});
