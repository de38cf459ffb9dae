// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references, as the example file shows them.
/** The keys of a webhook, of a destination as of `notify` (`schema.ts`). */
import * as v from "valibot";
import { flag, list, path, ruled, text } from "./fields.ts";
import { key } from "./key.ts";
import { clientKey } from "./outbox-schema.ts";
import { HEADER_NAME, HEADER_VALUE, WEBHOOK_URL } from "./text-rules.ts";

const headers = v.pipe(
  v.record(ruled(HEADER_NAME), ruled(HEADER_VALUE)),
  v.metadata({ form: "map of names to texts" }),
);

export const webhook = v.strictObject({
  url: key(ruled(WEBHOOK_URL), {
    description: "The full URL that gets a POST for each event, with http:// or https://.",
    more: `A certificate that is self-signed, expired, for another host or from an unknown authority is refused. Put a user
      name and password into an Authorization header, not into the URL.`,
    example: "https://crm.example.com/hooks",
  }),
  headers: key(v.optional(headers, {}), {
    description: "Headers that every request to this URL carries.",
    more: `Content-Type, User-Agent, X-Signature, the headers of Standard Webhooks, Host and headers about the connection
      cannot be set.`,
    entries: { "X-Environment": "production" },
    commentedOut: { Authorization: "Bearer ${file:/etc/fairlead/crm-token}" },
  }),
  ca: key(v.optional(path()), {
    description: "A file with the authorities that may have issued this webhook's certificate, as PEM.",
    more: `For receivers with a certificate of your own authority. For this webhook, only the authorities in the file are
      trusted. Without it, the public ones and those in $NODE_EXTRA_CA_CERTS are. A relative path starts at the config
      file's folder.`,
    example: "/etc/fairlead/tls/authority.pem",
    leftOut: "the public authorities",
  }),
  cert: key(v.optional(path()), {
    description: "The file of a client certificate, for receivers that require one (mutual TLS), as PEM.",
    more: `Fairlead's own certificate comes first, then those of its issuers except the root. When the file is renewed, new
      connections use the new certificate.`,
    example: "/etc/fairlead/tls/client.pem",
    leftOut: "none",
  }),
  key: clientKey,
});

const secrets = v.pipe(
  v.union([text(), list(text(), { of: "texts", empty: "must hold a secret" })], "must be text or a list of texts"),
  v.metadata({ form: "text, or list of texts" }),
);

/** How requests are signed. */
export const signing = {
  sharedSecret: key(v.optional(secrets), {
    description: "Signs each request: X-Signature is the HMAC-SHA1 of the body in hexadecimal.",
    more: `It proves to the receiver that a request comes from Fairlead. Without it, requests are not signed. While you replace a
      secret, write a list: the first one signs (docs/receive/secrets.md).`,
    example: "${credential:crm-secret}",
    leftOut: "not signed",
  }),
  standardWebhooks: key(v.optional(flag(), false), {
    description: "Whether each request also has the headers of Standard Webhooks.",
    more: `They are webhook-id, webhook-timestamp and webhook-signature, with an HMAC-SHA256 for each sharedSecret. Receivers
      can then use a library of that standard. Such a library reads a secret that begins with whsec_ as base64.`,
    example: true,
  }),
};
