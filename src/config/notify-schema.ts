/** The keys of `notify` (`schema.ts`). */
import * as v from "valibot";
import { NOTICE_KINDS } from "../model/config.ts";
import type { Message } from "../model/notice.ts";
import type { TemplateFields } from "../model/template.ts";
import { DAY } from "../model/units.ts";
import { count, duration, flag, list, oneOf } from "./fields.ts";
import { key } from "./key.ts";
import { bodyKey, template } from "./template.ts";
import { signing, webhook } from "./webhook-schema.ts";

const kinds = list(oneOf(NOTICE_KINDS), { of: "kinds", empty: "must name a kind: leave it out for all of them" });

/** What a template may refer to: the keys of a notification. */
const NOTICE_FIELDS: TemplateFields & { readonly plain: readonly (keyof Message)[] } = {
  plain: ["kind", "state", "title", "text", "at", "host"],
  objects: ["facts"],
};

const noticeBody = bodyKey(
  {
    template: key(template(NOTICE_FIELDS), {
      description: "The JSON that it gets for each notification, with references such as {{ title }} in its texts.",
      example: { text: "{{ title }}" },
    }),
  },
  {
    description: "What it gets: default, which is JSON with all that is known, or a template of your own.",
    more: `docs/recipes/ has examples for chats and phones. A template is written like that of a destination. It refers to
      \`kind\`, \`state\`, \`title\`, \`text\`, \`at\`, \`host\` and \`facts\`.`,
    example: { text: "{{ title }}" },
  },
);

export const notifier = v.strictObject({
  enabled: key(v.optional(flag(), true), {
    description: "Whether it gets new notifications.",
    example: false,
    more: "With false, notifications that already wait are kept.",
  }),
  url: key(webhook.entries.url, {
    description: "The full URL that gets a POST for each notification, with http:// or https://.",
    more: "It should not be on a machine that it reports on. Problems of a destination with the same URL are not sent here.",
    example: "https://ops.example.com/fairlead",
  }),
  on: key(v.optional(kinds), {
    description: `What it is notified of: ${NOTICE_KINDS.join(", ")}.`,
    example: ["destination_failing", "outbox_nearly_full"],
    leftOut: "all of them",
  }),
  failingFor: key(v.optional(duration({ min: 1, max: DAY }), "5m"), {
    description: "How long a destination must have failed before a notification is sent.",
    example: "15m",
    more: `Each webhook of the destination must have failed for that long. Notifications wait a minute for others, so values below
      a few minutes make little difference.`,
  }),
  repeat: key(v.optional(duration({ min: 1, max: 7 * DAY }), "4h"), {
    description: "How long until the notification of a lasting problem is repeated.",
    example: "1d",
    more: "Deliveries that are given up again and again are counted, and reported together once in that time.",
  }),
  perHour: key(v.optional(count({ min: 1, max: 1_000 }), 12), {
    description: "How many notifications it gets in an hour at most.",
    example: 30,
    more: "Notifications above that come later, with the state of that time.",
  }),
  body: noticeBody,
  headers: webhook.entries.headers,
  ca: webhook.entries.ca,
  cert: webhook.entries.cert,
  key: webhook.entries.key,
  ...signing,
});
