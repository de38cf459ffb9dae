// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references, as the example file shows them.
import * as v from "valibot";
import { path, ruled } from "../fields.ts";
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
    more: `A certificate that is self-signed, expired, of another host or from an unknown authority is refused. A user
      name and password do not go into the URL but into an Authorization header.`,
    example: "https://crm.example.com/hooks",
  }),
  headers: key(v.optional(headers(), {}), {
    description: "Headers that every request to this URL carries.",
    more: `Content-Type, User-Agent, X-Signature, the headers of Standard Webhooks, Host and headers about the connection
      cannot be set.`,
    entries: { "X-Environment": "production" },
    commentedOut: { Authorization: "Bearer ${file:/etc/fairlead/crm-token}" },
  }),
  ca: key(v.optional(path()), {
    description: "A file with the authorities that this webhook's certificate may come from, as PEM.",
    more: `For receivers with a certificate of your own authority. Only those in the file are trusted, for this webhook
      alone. Left out, it is those that every browser trusts, and those in $NODE_EXTRA_CA_CERTS. A relative path starts
      at the config file's folder.`,
    example: "/etc/fairlead/tls/authority.pem",
    leftOut: "the public authorities",
  }),
  cert: key(v.optional(path()), {
    description: "The file of a certificate for receivers that ask who connects (mutual TLS), as PEM.",
    more: `Fairlead's own certificate comes first, then those of its issuers but the last. When the file is renewed, new
      connections get the new certificate.`,
    example: "/etc/fairlead/tls/client.pem",
    leftOut: "none",
  }),
  key: key(v.optional(path()), {
    description: "The file of that certificate's private key, as PEM without a passphrase.",
    more: "Only Fairlead's user should be able to read it.",
    example: "/etc/fairlead/tls/client-key.pem",
    leftOut: "none",
  }),
});

function headers() {
  const name = ruled(headerNameFault, { pattern: HEADER_NAME_PATTERN, must: NOT_A_HEADER });
  const value = ruled(headerValueFault, { pattern: HEADER_VALUE_PATTERN });
  return v.pipe(v.record(name, value), form("map of names to texts"));
}
