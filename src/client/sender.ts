import { type Sendable, type WriteBody, writeEnvelope } from "./envelope.ts";
import type { Loss } from "./errors.ts";
import {
  type AnswerBody,
  judge,
  type Rejections,
  readAnswer,
  readRejections,
  successOf,
  type Tried,
  type Verdict,
} from "./judge.ts";
import type { Settings } from "./options.ts";
import type { World } from "./platform.ts";
import { type FinalAnswer, is2xx, post } from "./post.ts";
import type { Entry } from "./queue.ts";
import type { Debug } from "./report.ts";
import { type Mask, maskAnswer, printable, showCauses } from "./show.ts";

/** What became of a batch. */
export type Sending<Call = Entry> =
  | {
      readonly kind: "taken";
      readonly rejections: Rejections<Call>;
      /** Null if the answer does not say it. */
      readonly accepted: number | null;
      readonly duplicates: number;
      readonly status: number;
      readonly attempts: number;
    }
  /** `answer` is the last one. */
  | { readonly kind: "lost"; readonly loss: Loss; readonly answer: FinalAnswer }
  | { readonly kind: "stopped" };

export type Sender = {
  /** Sends a batch until it is settled or stopped. Never rejects. */
  send<Call extends Sendable>(batch: readonly Call[], how: How): Promise<Sending<Call>>;
  /** Ends the wait for the next attempt, unless the server has named the time. Later waits begin short again. */
  hurry(): void;
};

export type How = {
  /** Ends the request that is under way, and the waiting. */
  readonly signal: AbortSignal;
  /** Ends the waiting only: the answer of a request that is under way is read. */
  readonly stop?: AbortSignal;
  /** Called after each attempt that another one follows; false makes it the last. */
  readonly again?: (answer: FinalAnswer) => boolean;
};

type SenderWorld = Pick<World, "after" | "fetch" | "fraction" | "uuid" | "wall">;

type SenderOptions = {
  readonly debug: Debug;
  /** Writes the body of a request; the library's envelope when left out. */
  readonly write?: WriteBody;
};

type SenderSettings = Pick<Settings, "fetch" | "retries" | "target" | "timeoutMs">;

export function createSender(settings: SenderSettings, world: SenderWorld, options: SenderOptions): Sender {
  const { debug, write = writeEnvelope } = options;
  const { retries, target, timeoutMs, fetch = world.fetch } = settings;
  const { after } = world;
  const { mask } = target;
  let hurried = false;
  let wake = (): void => {};

  return {
    send,
    hurry() {
      hurried = true;
      wake();
    },
  };

  async function send<Call extends Sendable>(batch: readonly Call[], how: How): Promise<Sending<Call>> {
    const { signal, stop, again } = how;
    const messageId = world.uuid();
    let spent: Spent = { retried: 0, waits: 0, askedMs: 0 };
    for (let attempts = 1; ; attempts += 1) {
      // By the time of this attempt the server corrects the clock of this machine.
      const sentAt = new Date(world.wall()).toISOString();
      const headers = { ...target.headers, ...(attempts > 1 && { "X-Retry-Count": String(attempts - 1) }) };
      const request = { url: target.url, headers, body: write(batch, { messageId, sentAt }) };
      const answer = maskAnswer(await post(request, { fetch, after, timeoutMs, signal }), mask);
      if (answer.kind === "aborted") return { kind: "stopped" };
      debug(() => mask(answerLine(answer)));
      if (hurried) spent = { ...spent, waits: 0 };
      hurried = false;
      const verdict = judge(answer, { ...spent, retries, fraction: world.fraction(), now: world.wall() });
      if (verdict.kind !== "again") return conclude(answer, verdict, { batch, attempts, mask });
      if (again?.(answer) === false) return conclude(answer, GIVEN_UP, { batch, attempts, mask });
      debug(() => againLine(verdict));
      spent = spend(spent, verdict);
      const signals = stop ? [signal, stop] : [signal];
      await pause(verdict, signals);
      if (signals.some(({ aborted }) => aborted)) return { kind: "stopped" };
    }
  }

  /** The time between two attempts, which ends early when one of the signals is aborted. */
  function pause({ afterMs, told }: Verdict & { kind: "again" }, signals: readonly AbortSignal[]): Promise<void> {
    return new Promise((resolve) => {
      // A signal that is aborted already sends no event.
      if (signals.some(({ aborted }) => aborted)) return resolve();
      const cancel = after(afterMs, end);
      for (const signal of signals) signal.addEventListener("abort", end);
      if (!told) wake = end;

      function end(): void {
        cancel();
        for (const signal of signals) signal.removeEventListener("abort", end);
        wake = () => {};
        resolve();
      }
    });
  }
}

const GIVEN_UP = { kind: "lost", reason: "gave_up" } as const;

type Spent = Pick<Tried, "retried" | "waits" | "askedMs">;

function spend({ retried, waits, askedMs }: Spent, { counted, afterMs }: Verdict & { kind: "again" }): Spent {
  return counted ? { retried: retried + 1, waits: waits + 1, askedMs } : { retried, waits, askedMs: askedMs + afterMs };
}

type Sent<Call> = { readonly batch: readonly Call[]; readonly attempts: number; readonly mask: Mask };

function conclude<Call extends Sendable>(
  answer: FinalAnswer,
  verdict: Exclude<Verdict, { kind: "again" }>,
  { batch, attempts, mask }: Sent<Call>,
): Sending<Call> {
  const status = answer.kind === "answered" ? answer.status : null;
  const said = readAnswer(answer.kind === "answered" ? answer.body : "");
  if (verdict.kind === "taken") {
    const rejections = readRejections(said.rejected, batch);
    const { accepted, duplicates } = said;
    return { kind: "taken", rejections, accepted, duplicates, status: status ?? 0, attempts };
  }
  const { reason } = verdict;
  const why = printable(mask(whyLost(answer, { reason, attempts, said })));
  const cause = answer.kind === "failed" ? answer.cause : undefined;
  return { kind: "lost", loss: { reason, code: said.code ?? reason, why, status, attempts, cause }, answer };
}

/** A line for `debug`: `response 200 OK`, as the Go client writes it. */
function answerLine(answer: FinalAnswer): string {
  if (answer.kind !== "answered") return `error sending request: ${describe(answer)}`;
  const line = `response ${statusLine(answer)}`;
  return successOf(answer) === true ? line : `${line} – ${short(answer.body)}`;
}

function againLine({ afterMs, counted }: Verdict & { kind: "again" }): string {
  return `trying again in ${afterMs / 1_000} s${counted ? "" : ", as the server asks"}`;
}

type Lost = {
  readonly reason: "refused" | "gave_up";
  readonly attempts: number;
  readonly said: AnswerBody;
};

/** Why a batch is lost, as a clause. */
function whyLost(answer: FinalAnswer, { reason, attempts, said }: Lost): string {
  const last = [describe(answer), said.code, said.message].filter((part) => part !== null).join(": ");
  if (reason === "refused") return `the server refused the batch: ${last}`;
  const times = attempts === 1 ? "one attempt" : `${attempts} attempts`;
  return `no success in ${times}; the last: ${last}`;
}

function describe(answer: FinalAnswer): string {
  if (answer.kind === "timeout") return `no answer within ${answer.timeoutMs / 1_000} s`;
  if (answer.kind === "failed") return `no answer: ${showCauses(answer.cause)}`;
  const line = statusLine(answer);
  if (answer.location !== undefined) return `${line}${leadsTo(answer.status)} ${short(answer.location)}`;
  if (!is2xx(answer.status) || successOf(answer) !== null) return line;
  return `${line}, but not an answer of Fairlead; is endpoint its address? ${short(answer.body)}`.trimEnd();
}

/** Only these say that an address is wrong. Others may lead to the login of a network. */
function leadsTo(status: number): string {
  return status === 301 || status === 308 ? "; set endpoint to" : "; it redirects to";
}

/** HTTP/2 has no text for a status. */
function statusLine({ status, statusText }: FinalAnswer & { kind: "answered" }): string {
  return `${status} ${statusText}`.trimEnd();
}

function short(body: string): string {
  return body.length > 300 ? `${body.slice(0, 300)}…` : body;
}
