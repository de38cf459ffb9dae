import * as v from "valibot";
import { KB, MB } from "../../model/units.ts";
import { address, list, network, path, ruled, size } from "../fields.ts";
import { key } from "../manual.ts";
import { NOT_AN_ORIGIN, ORIGIN_PATTERN, originFault } from "../origins.ts";

/** What client libraries count on (SPEC.md 8); fewer would cost calls that they take to be small enough. */
export const MAX_CALL = 32 * KB;
export const MAX_BATCH = 500 * KB;

export const INGEST_LISTEN = "127.0.0.1:8080";

const tls = v.strictObject({
  cert: key(path(), {
    description: "The file of the certificate, as PEM. A relative path starts at the config file's folder.",
    more: "The server's own certificate comes first, then those of its issuers: of Let's Encrypt, fullchain.pem.",
    example: "/etc/fairlead/tls/fullchain.pem",
  }),
  key: key(path(), {
    description: "The file of its private key, as PEM without a passphrase.",
    more: "Only Fairlead's user should be able to read it.",
    example: "/etc/fairlead/tls/privkey.pem",
  }),
});

const networks = list(network(), { of: "addresses or networks", example: "[127.0.0.1, 10.0.0.0/8]" });
const origins = list(ruled(originFault, { pattern: ORIGIN_PATTERN, must: NOT_AN_ORIGIN }), {
  of: "origins",
  example: "[https://example.com]",
});

export const ingest = v.strictObject({
  listen: key(v.optional(address(), INGEST_LISTEN), {
    description: "Where it listens: host:port, [v6]:port or unix:/path.",
    example: "unix:/run/fairlead/ingest.sock",
    more: `Behind a reverse proxy on this machine, leave it on loopback or give it a socket, as in
      unix:/run/fairlead/ingest.sock. Write 0.0.0.0:8080 to be reached from other machines without one.`,
  }),
  tls: key(v.optional(tls), {
    description: "Serves HTTPS with this certificate. Plain HTTP when left out.",
    leftOut: "plain HTTP",
    more: `Behind a reverse proxy leave it out: the proxy speaks TLS. When the files are renewed, new connections get the
      new certificate.`,
  }),
  trustedProxies: key(v.optional(networks, []), {
    description: "The proxies whose word on who the client is counts (X-Forwarded-For), as addresses or networks.",
    example: ["127.0.0.1", "10.0.0.0/8"],
    more: `Behind a reverse proxy, name its address, such as 127.0.0.1 for one on this machine: all clients seem to have
      that address otherwise. \`[10.0.0.0/8, fd00::/8]\` names networks. Whoever can connect to a Unix socket is trusted
      without it.`,
  }),
  corsOrigins: key(v.optional(origins, ["*"]), {
    description: "The pages that may send calls, by their origins. Those of all sites with *, none with an empty list.",
    example: ["https://example.com", "https://*.example.com"],
    more: `\`[https://example.com, https://*.example.com]\` stands for a site and all of its subdomains. An app in a web
      view has an origin such as capacitor://localhost, and a sandboxed frame "null". Calls with an Origin that is not
      listed are refused. Programs send none and are not concerned.`,
  }),
  maxCall: key(v.optional(size({ min: MAX_CALL, max: MB }), "32KB"), {
    description: "The largest call that is taken, as compact JSON and with what its batch adds to it.",
    example: "256KB",
    more: `Receivers get bodies of this size, or twice as much where traits come in two places. Up to 200 of them are on
      their way at once.`,
  }),
  maxBatch: key(v.optional(size({ min: MAX_BATCH, max: 8 * MB }), "500KB"), {
    description: "The largest request that is taken, decompressed.",
    example: "4MB",
    more: `RudderStack's libraries send larger ones at their defaults, and drop what is refused (docs/clients.md). A proxy in
      front has a limit of its own, such as client_max_body_size of nginx.`,
  }),
});
