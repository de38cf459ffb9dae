import type { Peer } from "../model/ports.ts";
import type { Sender } from "../model/refusal.ts";
import type { Source } from "../model/source.ts";
import type { Caller } from "../validate/context.ts";
import { applyPolicy } from "../validate/ip.ts";
import type { Door } from "./door.ts";

/** No browser says more; what is longer is cut. */
const LONGEST_USER_AGENT = 1_000;
const LONGEST_ORIGIN = 300;

/** A request at the door. */
export type Arriving = {
  readonly request: Request;
  readonly peer: Peer;
  /** The page that a browser sent it from, or null. */
  readonly origin: string | null;
  /** As the config was when it came. */
  readonly door: Door;
};

/** Who sent a request, for its calls. `isPage`: whether it can only have come from a page or a mail. */
export function callerOf(arriving: Arriving, source: Source, isPage: boolean): Caller {
  return {
    address: () => addressOf(arriving),
    userAgent: () => userAgentOf(arriving),
    isPage: isPage || arriving.origin !== null,
    type: source.type,
    ip: source.ip,
  };
}

/** Who sent a request, for the operator. An address that a source must not pass on is not shown either. */
export function senderOf(arriving: Arriving, source: Source | null): Sender {
  const address = addressOf(arriving);
  return {
    address: address === null ? null : applyPolicy(address, arriving.door.ipPolicyOf(source)),
    userAgent: userAgentOf(arriving),
    origin: arriving.origin?.slice(0, LONGEST_ORIGIN) ?? null,
  };
}

function addressOf({ request, peer, door }: Arriving): string | null {
  return door.proxies.addressOf(request, peer);
}

function userAgentOf({ request }: Arriving): string | null {
  return request.headers.get("user-agent")?.slice(0, LONGEST_USER_AGENT) || null;
}
