import type { Post, PostRequest, PostSignal, Reply } from "../../src/model/ports.ts";
import type { At, Ms } from "../../src/model/units.ts";
import type { FalseClock } from "./clock.ts";

/** What a false receiver does with a request: a status, a full answer, a fault of the way to it, or nothing at all. */
export type Behaviour =
  | number
  | "hang"
  | {
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly after?: Ms;
      /** What it says; or it begins to, and never ends. */
      readonly body?: string | "never ends";
    }
  | Exclude<Reply, { kind: "answered" | "aborted" }>;

/** A request as it arrived at a false receiver. */
export type Sent = Omit<PostRequest, "signal"> & { readonly at: At; readonly nth: number };

export type FalseNetwork = { readonly post: Post; readonly sent: readonly Sent[] };

export const REFUSED: Behaviour = { kind: "unreachable", code: "ECONNREFUSED", message: "connection refused" };
export const OFFLINE: Behaviour = { kind: "offline", code: "ENETUNREACH", message: "network is unreachable" };
export const SELF_SIGNED: Behaviour = {
  kind: "untrusted",
  code: "DEPTH_ZERO_SELF_SIGNED_CERT",
  message: "self-signed certificate",
};

/** A network of receivers that answer as told; `nth` counts the requests to each URL from 1. */
export function createFalseNetwork(clock: FalseClock, answers: (sent: Sent) => Behaviour): FalseNetwork {
  const sent: Sent[] = [];
  const counts = new Map<string, number>();

  return {
    sent,
    post({ signal, ...request }) {
      const nth = (counts.get(request.url) ?? 0) + 1;
      counts.set(request.url, nth);
      const arrived = { ...request, at: clock.now(), nth };
      sent.push(arrived);
      return reply(answers(arrived), signal);
    },
  };

  async function reply(behaviour: Behaviour, signal: PostSignal): Promise<Reply> {
    if (behaviour === "hang") return aborted(signal);
    if (typeof behaviour === "object" && "kind" in behaviour) return behaviour;
    const told = typeof behaviour === "number" ? { status: behaviour } : behaviour;
    const { status, headers = {}, after = 0, body = "" } = told;
    const answer: Reply = {
      kind: "answered",
      status,
      retryAfter: headers["Retry-After"] ?? null,
      location: headers.Location ?? null,
      body: body === "never ends" ? aborted(signal).then(() => "") : Promise.resolve(body),
    };
    return after === 0 ? answer : Promise.race([wait(after).then(() => answer), aborted(signal)]);
  }

  function wait(ms: Ms): Promise<void> {
    return new Promise((resolve) => {
      clock.after(ms, resolve);
    });
  }
}

function aborted(signal: PostSignal): Promise<Reply> {
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve({ kind: "aborted" }));
  });
}
