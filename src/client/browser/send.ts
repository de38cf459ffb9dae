import { type Loss, LostCallError } from "../errors.ts";
import { judge, readAnswer, readRejections } from "../judge.ts";
import type { FinalAnswer } from "../post.ts";
import type { Entry } from "../queue.ts";
import type { Settlement } from "../report.ts";
import { showCauses } from "../show.ts";
import type { PageOptions } from "./client.ts";
import type { Page } from "./page.ts";

type Parts<Call> = {
  readonly url: string;
  /** Writes the body of a request. */
  readonly body: (batch: readonly Call[]) => string;
  readonly options: PageOptions;
  readonly page: Page;
  /** Ends the sending. */
  readonly signal: AbortSignal;
};

type Settled<Call> = readonly (readonly [call: Call, settlement: Settlement])[];

/** Makes what sends a batch until it is settled, with the retry table of the client for servers. Empty if it was ended before. */
export function createSend<Call extends Entry>({ url, body, options, page, signal }: Parts<Call>) {
  const { retries = 10 } = options;

  return async function send(batch: readonly Call[]): Promise<Settled<Call>> {
    let [retried, askedMs] = [0, 0];
    for (let attempts = 1; ; attempts += 1) {
      const answer = await ask(body(batch), { url, options, page, signal });
      if (signal.aborted) return [];
      const tried = { retried, retries, waits: retried, askedMs };
      const verdict = judge(answer, { ...tried, fraction: page.fraction(), now: page.wall() });
      if (verdict.kind === "taken") return settleTaken(batch, answer, attempts);
      if (verdict.kind === "lost") return settleLost(batch, answer, { reason: verdict.reason, attempts });
      if (verdict.counted) retried += 1;
      else askedMs += verdict.afterMs;
      await new Promise<void>((resolve) => {
        page.after(verdict.afterMs, resolve);
        signal.addEventListener("abort", () => resolve());
      });
      if (signal.aborted) return [];
    }
  };
}

type Asking = Omit<Parts<never>, "body">;

/** Sends one request, and reads its answer. Never rejects. */
async function ask(body: string, { url, options, page, signal }: Asking): Promise<FinalAnswer> {
  const { timeout = 10_000, fetch = page.fetch } = options;
  const controller = new AbortController();
  const abort = (): void => controller.abort(new Error("timed out"));
  const cancel = page.after(timeout, abort);
  signal.addEventListener("abort", abort);
  try {
    // Without headers of its own, a request to another origin needs no preflight.
    const init = { method: "POST", headers: {}, body, signal: controller.signal, redirect: "manual" } as const;
    const response = await fetch(url, init);
    const { status, headers } = response;
    // All that a browser shows of a redirect, which may be to the login of a network.
    if (status === 0) throw new Error("redirected; check endpoint");
    const retryAfter = headers.get("retry-after");
    return { kind: "answered", status, statusText: "", retryAfter, body: await response.text() };
  } catch (cause) {
    return { kind: "failed", cause };
  } finally {
    cancel();
    signal.removeEventListener("abort", abort);
  }
}

function settleTaken<Call extends Entry>(batch: readonly Call[], answer: FinalAnswer, attempts: number): Settled<Call> {
  const { status, said } = read(answer);
  const rejections = readRejections(said.rejected, batch).of;
  return batch.map((call) => {
    const rejection = rejections.get(call);
    if (!rejection) return [call, { kind: "delivered" }];
    const { code, message } = rejection;
    return [
      call,
      lost(call, { reason: "rejected", code, why: `the server rejected it: ${code}: ${message}`, status, attempts }),
    ];
  });
}

type Lost = Required<Pick<Loss, "reason" | "attempts">>;

function settleLost<Call extends Entry>(batch: readonly Call[], answer: FinalAnswer, how: Lost): Settled<Call> {
  const { status, said, why } = read(answer);
  return batch.map((call) => [call, lost(call, { ...how, code: said.code ?? how.reason, why, status })]);
}

function lost(call: Entry, loss: Loss): Settlement {
  return { kind: "lost", error: new LostCallError(call, loss) };
}

function read(answer: FinalAnswer) {
  const { status, body } = answer.kind === "answered" ? answer : { status: null, body: "" };
  const said = readAnswer(body);
  if (answer.kind === "failed") return { status, said, why: `no answer: ${showCauses(answer.cause)}` };
  return { status, said, why: [status, said.code, said.message].filter((part) => part !== null).join(": ") };
}
