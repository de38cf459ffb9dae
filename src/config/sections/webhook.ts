// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references, as the example file shows them.
import * as v from "valibot";
import { ruled } from "../fields.ts";
import { form } from "../form.ts";
import { key } from "../manual.ts";
import {
  HEADER_NAME_PATTERN,
  HEADER_VALUE_PATTERN,
  headerNameFault,
  headerValueFault,
  NOT_A_HEADER,
  URL_PATTERN,
  URL_START,
  urlFault,
} from "../webhook-rules.ts";

/** One entry of a destination's `webhooks`. */
export const webhook = v.strictObject({
  url: key(ruled(urlFault, { pattern: URL_PATTERN, must: URL_START, is: "URL" }), {
    description: "The full URL that gets a POST for each event, with http:// or https://.",
    more: `A self-signed certificate is refused. A user name and password do not go into the URL but into an
      Authorization header.`,
    example: "https://crm.example.com/hooks",
  }),
  headers: key(v.optional(headers(), {}), {
    description: "Headers that every request to this URL carries.",
    more: "Content-Type, User-Agent, X-Signature, Host and headers about the connection cannot be set.",
    entries: { "X-Environment": "production" },
    commentedOut: { Authorization: "Bearer ${file:/etc/fairlead/crm-token}" },
  }),
});

function headers() {
  const name = ruled(headerNameFault, { pattern: HEADER_NAME_PATTERN, must: NOT_A_HEADER });
  const value = ruled(headerValueFault, { pattern: HEADER_VALUE_PATTERN });
  return v.pipe(v.record(name, value), form("map of names to texts"));
}
