import { type WriteBody, writeEnvelope } from "./envelope.ts";
import type { Loss } from "./errors.ts";
import {
  is2xx,
  judge,
  type Rejections,
  readAnswer,
  readRejections,
  type Said,
  type Tried,
  type Verdict,
} from "./judge.ts";
import type { Settings } from "./options.ts";
import type { World } from "./platform.ts";
import { type FinalAnswer, post } from "./post.ts";
import type { Entry, Sendable } from "./queue.ts";
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
  /** Sends a batch until it is settled, or told to stop. Never rejects. */
  send<Call extends Sendable>(batch: readonly Call[], how: How): Promise<Sending<Call>>;
  /** Ends the wait for the next attempt, unless the server has named the time; later waits begin short again. */
  hurry(): void;
};

export type How = {
  /** Ends the request that is under way, and the waiting. */
  readonly signal: AbortSignal;
  /** Ends the waiting only: a request that is under way has its answer read. */
  readonly stop?: AbortSignal;
  /** Hears of each attempt that the retry table would follow by another, and may say no. */
  readonly again?: (answer: FinalAnswer) => boolean;
};

type SenderWorld = Pick<World, "after" | "fetch" | "fraction" | "uuid" | "wall">;

type SenderOptions = {
  readonly debug: Debug;
  /** Writes the body of a request: the library's envelope, unless said otherwise. */
  readonly write?: WriteBody;
};

type SenderSettings = Pick<Settings, "fetch" | "retries" | "target" | "timeoutMs">;

export function createSender(settings: SenderSettings, world: SenderWorld, options: SenderOptions): Sender {
  const { debug, write = writeEnvelope } = options;
  const fetch = settings.fetch ?? world.fetch;
  const { after } = world;
  const { mask } = settings.target;
  const pause = createPause(after);
  let hurried = false;

  return {
    send,
    hurry() {
      hurried = true;
      pause.end();
    },
  };

  async function send<Call extends Sendable>(batch: readonly Call[], how: How): Promise<Sending<Call>> {
    const { signal, stop, again } = how;
    const messageId = world.uuid();
    let spent: Spent = { retried: 0, waits: 0, askedMs: 0 };
    for (let attempts = 1; ; attempts += 1) {
      // The time of sending is that of this attempt: by it the server corrects the clock of this machine.
      const sentAt = new Date(world.wall()).toISOString();
      const headers = attempts === 1 ? {} : { "X-Retry-Count": String(attempts - 1) };
      const body = write(batch, { messageId, sentAt });
      const request = { url: settings.target.url, headers: { ...settings.target.headers, ...headers }, body };
      const posted = await post(request, { fetch, after, timeoutMs: settings.timeoutMs, signal });
      // From here on it may be shown.
      const answer = maskAnswer(posted, mask);
      if (answer.kind === "aborted") return { kind: "stopped" };
      debug(() => mask(answerLine(answer)));
      if (hurried) spent = { ...spent, waits: 0 };
      hurried = false;
      const { retries } = settings;
      const verdict = judge(answer, { ...spent, retries, fraction: world.fraction(), now: world.wall() });
      if (verdict.kind !== "again") return conclude(answer, verdict, { batch, attempts, mask });
      if (again?.(answer) === false) return conclude(answer, GIVEN_UP, { batch, attempts, mask });
      debug(() => againLine(verdict));
      spent = spend(spent, verdict);
      const signals = stop ? [signal, stop] : [signal];
      await pause.wait(verdict.afterMs, { signals, fixed: verdict.told });
      if (signals.some(({ aborted }) => aborted)) return { kind: "stopped" };
    }
  }
}

const GIVEN_UP = { kind: "lost", reason: "gave_up" } as const;

type Spent = Pick<Tried, "retried" | "waits" | "askedMs">;

function spend({ retried, waits, askedMs }: Spent, { counted, afterMs }: Verdict & { kind: "again" }): Spent {
  return counted ? { retried: retried + 1, waits: waits + 1, askedMs } : { retried, waits, askedMs: askedMs + afterMs };
}

type Sent<Call> = { readonly batch: readonly Call[]; readonly attempts: number; readonly mask: Mask };
type Settled = Exclude<Verdict, { kind: "again" }>;

function conclude<Call extends Sendable>(
  answer: FinalAnswer,
  verdict: Settled,
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

/** The time between two attempts. */
type Pause = {
  /** Resolves after so many milliseconds, or once one of the signals is aborted. */
  wait(ms: number, bounds: Bounds): Promise<void>;
  /** Ends the wait that is under way, unless it is fixed. */
  end(): void;
};

type Bounds = { readonly signals: readonly AbortSignal[]; readonly fixed: boolean };

function createPause(after: World["after"]): Pause {
  let wake = (): void => {};

  return { wait, end: () => wake() };

  function wait(ms: number, { signals, fixed }: Bounds): Promise<void> {
    return new Promise((resolve) => {
      // One that was aborted before tells nobody any more.
      if (signals.some(({ aborted }) => aborted)) return resolve();
      const cancel = after(ms, end);
      for (const signal of signals) signal.addEventListener("abort", end);
      if (!fixed) wake = end;

      function end(): void {
        cancel();
        for (const signal of signals) signal.removeEventListener("abort", end);
        wake = () => {};
        resolve();
      }
    });
  }
}

/** How answers are told, in lines for `debug` and in the messages of errors. */

/** `response 200 OK`, as the Go client writes it; with what a refusal says. */
function answerLine(answer: FinalAnswer): string {
  if (answer.kind !== "answered") return `error sending request: ${describe(answer)}`;
  const { status, body } = answer;
  const ok = is2xx(status) && readAnswer(body).success === true;
  return ok ? `response ${statusLine(answer)}` : `response ${statusLine(answer)} – ${short(body)}`;
}

function againLine({ afterMs, counted }: Verdict & { kind: "again" }): string {
  return `trying again in ${afterMs / 1_000} s${counted ? "" : ", as the server asks"}`;
}

type Lost = {
  readonly reason: "refused" | "gave_up";
  readonly attempts: number;
  readonly said: Said;
};

/** Why a batch is lost, as a clause. */
function whyLost(answer: FinalAnswer, { reason, attempts, said: { code, message } }: Lost): string {
  const says = [code, message].filter((part) => part !== null).join(": ");
  const last = says === "" ? describe(answer) : `${describe(answer)}: ${says}`;
  if (reason === "refused") return `the server refused its batch: ${last}`;
  const times = attempts === 1 ? "one attempt" : `${attempts} attempts`;
  return `no success in ${times}; the last: ${last}`;
}

function describe(answer: FinalAnswer): string {
  if (answer.kind === "answered") return isUnknown(answer) ? unknownLine(answer) : statusLine(answer);
  if (answer.kind === "timeout") return `no answer within ${answer.timeoutMs / 1_000} s`;
  return `no answer: ${showCauses(answer.cause)}`;
}

function isUnknown({ status, body }: FinalAnswer & { kind: "answered" }): boolean {
  return is2xx(status) && readAnswer(body).success === null;
}

function unknownLine(answer: FinalAnswer & { kind: "answered" }): string {
  return `${statusLine(answer)}, but not as Fairlead answers; is that its address? ${short(answer.body)}`.trimEnd();
}

/** HTTP/2 has no words for a status. */
function statusLine({ status, statusText }: FinalAnswer & { kind: "answered" }): string {
  return `${status} ${statusText}`.trimEnd();
}

function short(body: string): string {
  return body.length > 300 ? `${body.slice(0, 300)}…` : body;
}
