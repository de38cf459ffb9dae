import { MINUTE, type Ms, SECOND } from "../../../model/units.ts";
import type { Exchange } from "../../../runtime/request.ts";
import { isNobodyThere, isRefusal, parseSaid } from "../../daemon/said.ts";
import { printable } from "../../printable.ts";

/** What became of calls that were sent together. */
export type Verdict =
  | Taken
  /** Nothing was taken; it may be later. `nobody`: nothing listens there. `wait`: what the daemon asks for. */
  | { readonly kind: "later"; readonly why: string; readonly wait: Ms; readonly nobody: boolean }
  /** The request as a whole was refused because of what is in it. */
  | { readonly kind: "unfit"; readonly code: string; readonly message: string }
  /** It is of no use to send anything there. */
  | { readonly kind: "useless"; readonly why: string };

export type Taken = {
  readonly kind: "taken";
  readonly accepted: number;
  readonly duplicate: number;
  readonly rejected: readonly Rejected[];
};

/** `index`: which of the calls, counted from 0. */
export type Rejected = { readonly index: number; readonly code: string; readonly message: string };

/** Statuses of 400 and above, below 500, after which the same request may go through. */
const LATER = [408, 425, 429];
const LONGEST_WAIT: Ms = 5 * MINUTE;

/** Reads what came back for a batch. */
export function readVerdict(exchange: Exchange): Verdict {
  if (exchange.kind === "failed") {
    const { code, reason } = exchange;
    return { kind: "later", why: `cannot be reached: ${reason}`, wait: 0, nobody: isNobodyThere(code) };
  }
  const { status, headers, text } = exchange;
  const said = parseSaid(text);
  if (status === 200 && isTaken(said)) {
    const { accepted, duplicate, rejected = [] } = said;
    return { kind: "taken", accepted, duplicate, rejected };
  }
  const why = `answers ${status}${isRefusal(said) ? ` ${printable(`${said.code}: ${said.message}`)}` : ""}`;
  if (status >= 500 || LATER.includes(status)) return { kind: "later", why, wait: waitOf(headers), nobody: false };
  if (status === 413) return { kind: "unfit", code: "body_too_large", message: "the request is too large" };
  if (!isRefusal(said)) return { kind: "useless", why: `${why}, and not as Fairlead does; is that its address?` };
  if (status === 400) return { kind: "unfit", code: said.code, message: said.message };
  return { kind: "useless", why };
}

type Said = Omit<Taken, "kind" | "rejected"> & { readonly rejected?: Taken["rejected"] };

function isTaken(said: unknown): said is Said {
  if (typeof said !== "object" || said === null || !("accepted" in said) || !("duplicate" in said)) return false;
  const { accepted, duplicate } = said;
  const isCounted = typeof accepted === "number" && typeof duplicate === "number";
  return isCounted && (!("rejected" in said) || (Array.isArray(said.rejected) && said.rejected.every(isRejected)));
}

function isRejected(value: unknown): boolean {
  return isRefusal(value) && "index" in value && typeof value.index === "number";
}

/** Fairlead says it in seconds. */
function waitOf(headers: Headers): Ms {
  const seconds = Number(headers.get("retry-after") ?? 0);
  return seconds > 0 ? Math.min(seconds * SECOND, LONGEST_WAIT) : 0;
}
