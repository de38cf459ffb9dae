import type { Reply } from "../model/ports.ts";
import { describeFailure, isOffline } from "./failure.ts";
import { isUnresolved } from "./unresolved.ts";
import { describeUntrusted, isUntrusted } from "./untrusted.ts";
import { nextHostOf, type Way } from "./way.ts";

/**
 * What a failed POST means. The words are made here from the error's code: those of the runtimes carry advice to
 * programmers, and the whole URL with its query.
 */
export function replyToError(error: unknown, signal: AbortSignal, way: Way | null = null): Reply {
  if (signal.aborted || isAbort(error)) return { kind: "aborted" };
  const code = codeOf(error);
  if (isUntrusted(code)) return { kind: "untrusted", code, message: describeUntrusted(code, way) };
  const message = describeFailure({ code, proxyStatus: proxyStatusOf(error) }, way);
  return { kind: isOffline(code) ? "offline" : "unreachable", code, message };
}

/** As `replyToError`, of what went the whole way: without an answer in time, perhaps no further than to a name server. */
export async function replyToFailure(error: unknown, signal: AbortSignal, way: Way): Promise<Reply> {
  const reply = replyToError(error, signal, way);
  if (reply.kind !== "aborted" || !(await isUnresolved(nextHostOf(way)))) return reply;
  return {
    kind: "offline",
    code: "EAI_AGAIN",
    message: describeFailure({ code: "EAI_AGAIN", proxyStatus: null }, way),
  };
}

/** A runtime's own time limits count as the caller's. */
function isAbort(error: unknown): boolean {
  return error instanceof Error && (error.name === "AbortError" || error.name === "TimeoutError");
}

/** The code by which the system or a runtime calls an error. */
export function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOfSeveral(error.errors.map(codeOf));
  if (!(error instanceof Error)) return "UNKNOWN";
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}

/** One for each address of the name. If any of them was reached, the machine is not offline. */
function codeOfSeveral(codes: readonly string[]): string {
  return codes.find((code) => !isOffline(code)) ?? codes[0] ?? "UNKNOWN";
}

/** Bun has it as a number, Deno in its message: `… over http://proxy:3128: HTTP/1.1 403 Forbidden`. */
function proxyStatusOf(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  if ("status" in error && typeof error.status === "number") return String(error.status);
  return /: HTTP\/1\.\d (\d{3})/.exec(error.message)?.[1] ?? null;
}
