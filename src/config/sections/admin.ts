// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references, as the example file shows them.
import * as v from "valibot";
import { address, text } from "../fields.ts";
import { key } from "../manual.ts";

export const ADMIN_LISTEN = "127.0.0.1:8081";

export const admin = v.strictObject({
  listen: key(v.optional(address(), ADMIN_LISTEN), {
    description: "Where it listens: host:port, [v6]:port or unix:/path.",
    more: `Change it if something else has the port, or to let a monitoring system on another machine read the metrics;
      then it needs a token.`,
  }),
  token: key(v.optional(text()), {
    description: "What its clients must send. Required unless it listens on loopback or a Unix socket.",
    example: "${ADMIN_TOKEN}",
  }),
});
