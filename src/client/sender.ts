import { type Rejections, readAnswer, readRejections } from "./answer.ts";
import type { Debug } from "./debug.ts";
import type { Entry, Sendable } from "./entry.ts";
import { type WriteBody, writeEnvelope } from "./envelope.ts";
import type { Loss } from "./errors.ts";
import { judge, type Tried, type Verdict } from "./judge.ts";
import { type Mask, maskAnswer } from "./mask.ts";
import type { Settings } from "./options.ts";
import { createPause } from "./pause.ts";
import { type FinalAnswer, post } from "./post.ts";
import { printable } from "./printable.ts";
import { againLine, answerLine, whyLost } from "./words.ts";
import type { World } from "./world.ts";

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

export type SenderWorld = Pick<World, "after" | "fetch" | "fraction" | "uuid" | "wall">;

export type SenderOptions = {
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
