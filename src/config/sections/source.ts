// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references, as the example file shows them.
import * as v from "valibot";
import { IP_POLICIES, SOURCE_TYPES } from "../../model/source.ts";
import { flag, oneOf, text } from "../fields.ts";
import { key } from "../manual.ts";

/** One entry of `sources`. */
export const source = v.strictObject({
  writeKey: key(text(), {
    description: "The key that its pages and programs send; any text, different for each source.",
    more: `A browser shows it to everyone, so give your servers a source of their own. Make a key with
      \`openssl rand -hex 16\`.`,
    example: "${WEBSITE_KEY:-change-me}",
  }),
  enabled: key(v.optional(flag(), true), {
    description: "Whether its calls are taken.",
    example: false,
    more: "false answers them with 401 and keeps the rest of the entry for later.",
  }),
  type: key(v.optional(oneOf(SOURCE_TYPES), "auto"), {
    description: "What sends its calls: web, mobile, server, or auto, by which each call tells.",
    example: "server",
    more: `In calls from web and mobile, and in those whose context.direct is true, context.ip and context.userAgent are
      filled in from the connection: they are the user's. In calls from a server they are not, as its own address says
      nothing about its users. A call tells by its library, its channel, or an Origin header.`,
  }),
  ip: key(v.optional(oneOf(IP_POLICIES), "keep"), {
    description: "What becomes of users' IP addresses: keep, truncate or drop.",
    example: "truncate",
    more: `truncate sets the last octet of an IPv4 address and the last 80 bits of an IPv6 address to zero, also in an
      address that the client itself sent; drop removes context.ip.`,
  }),
});
