// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references, as the example file shows them.
import * as v from "valibot";
import { address, ruled } from "../fields.ts";
import { key } from "../manual.ts";
import { TOKEN_PATTERN, tokenFault } from "../webhook-rules.ts";

export const ADMIN_LISTEN = "127.0.0.1:8081";

export const admin = v.strictObject({
  listen: key(v.optional(address(), ADMIN_LISTEN), {
    description: "Where it listens: host:port, [v6]:port or unix:/path.",
    example: "unix:/run/fairlead/admin.sock",
    more: `Change it if something else has the port, or to let a monitoring system on another machine read the metrics;
      then it needs a token.`,
  }),
  token: key(v.optional(ruled(tokenFault, { pattern: TOKEN_PATTERN })), {
    description: "What its clients must send. Required unless it listens on loopback or a Unix socket.",
    more: `They send it as \`Authorization: Bearer TOKEN\`, so that it may hold letters, digits and punctuation of ASCII,
      and no spaces. Make one with \`openssl rand -hex 16\`.`,
    example: "${ADMIN_TOKEN}",
    leftOut: "none",
  }),
});
