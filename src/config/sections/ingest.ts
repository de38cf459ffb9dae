import * as v from "valibot";
import { address } from "../fields.ts";
import { key } from "../manual.ts";

export const INGEST_LISTEN = "127.0.0.1:8080";

export const ingest = v.strictObject({
  listen: key(v.optional(address(), INGEST_LISTEN), {
    description: "Where it listens: host:port, [v6]:port or unix:/path.",
    more: `Behind a reverse proxy on this machine, leave it on loopback or give it a socket, as in
      unix:/run/fairlead/ingest.sock. Write 0.0.0.0:8080 to be reached from other machines without one.`,
  }),
});
