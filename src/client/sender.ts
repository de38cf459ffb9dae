import { type Rejections, readAnswer, readRejections } from "./answer.ts";
import type { Debug } from "./debug.ts";
import type { Entry } from "./entry.ts";
import { writeEnvelope } from "./envelope.ts";
import type { Loss } from "./errors.ts";
import { judge, type Tried, type Verdict } from "./judge.ts";
import type { Settings } from "./options.ts";
import { type Answer, post } from "./post.ts";
import { againLine, answerLine, whyLost } from "./words.ts";
import type { World } from "./world.ts";

/** What became of a batch. */
export type Sending =
  | {
      readonly kind: "taken";
      readonly rejections: Rejections;
      readonly duplicates: number;
      readonly status: number;
      readonly attempts: number;
    }
  | { readonly kind: "lost"; readonly loss: Loss }
  | { readonly kind: "stopped" };

export type Sender = {
  /** Sends a batch until it is settled, or the signal aborted. Never rejects. */
  send(batch: readonly Entry[], signal: AbortSignal): Promise<Sending>;
  /** Ends the wait for the next attempt, unless the server has named the time; later waits begin short again. */
  hurry(): void;
};

type SenderWorld = Pick<World, "after" | "fetch" | "fraction" | "uuid" | "wall">;
type Final = Exclude<Answer, { kind: "aborted" }>;

export function createSender(settings: Settings, world: SenderWorld, debug: Debug): Sender {
  const fetch = settings.fetch ?? world.fetch;
  const { after } = world;
  let wake = (): void => {};
  let hurried = false;

  return {
    send,
    hurry() {
      hurried = true;
      wake();
    },
  };

  async function send(batch: readonly Entry[], signal: AbortSignal): Promise<Sending> {
    const messageId = world.uuid();
    let spent: Spent = { retried: 0, waits: 0, askedMs: 0 };
    for (let attempts = 1; ; attempts += 1) {
      // The time of sending is that of this attempt: by it the server corrects the clock of this machine.
      const sentAt = new Date(world.wall()).toISOString();
      const headers = attempts === 1 ? {} : { "X-Retry-Count": String(attempts - 1) };
      const body = writeEnvelope(batch, { messageId, sentAt });
      const request = { url: settings.target.url, headers: { ...settings.target.headers, ...headers }, body };
      const answer = await post(request, { fetch, after, timeoutMs: settings.timeoutMs, signal });
      if (answer.kind === "aborted") return { kind: "stopped" };
      debug(() => answerLine(answer));
      if (hurried) spent = { ...spent, waits: 0 };
      hurried = false;
      const { retries } = settings;
      const verdict = judge(answer, { ...spent, retries, fraction: world.fraction(), now: world.wall() });
      if (verdict.kind !== "again") return conclude(answer, verdict, { batch, attempts });
      debug(() => againLine(verdict));
      spent = spend(spent, verdict);
      await wait(verdict, signal);
      if (signal.aborted) return { kind: "stopped" };
    }
  }

  function wait({ afterMs, told }: Verdict & { kind: "again" }, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const cancel = after(afterMs, end);
      signal.addEventListener("abort", end);
      wake = told ? () => {} : end;
      // A function that has been told of the answer may have ended it all.
      if (signal.aborted) end();

      function end(): void {
        cancel();
        signal.removeEventListener("abort", end);
        resolve();
      }
    });
  }
}

type Spent = Pick<Tried, "retried" | "waits" | "askedMs">;

function spend({ retried, waits, askedMs }: Spent, { counted, afterMs }: Verdict & { kind: "again" }): Spent {
  return counted ? { retried: retried + 1, waits: waits + 1, askedMs } : { retried, waits, askedMs: askedMs + afterMs };
}

type Sent = { readonly batch: readonly Entry[]; readonly attempts: number };

function conclude(answer: Final, verdict: Exclude<Verdict, { kind: "again" }>, { batch, attempts }: Sent): Sending {
  const status = answer.kind === "answered" ? answer.status : null;
  const said = readAnswer(answer.kind === "answered" ? answer.body : "");
  if (verdict.kind === "taken") {
    const rejections = readRejections(said.rejected, batch);
    return { kind: "taken", rejections, duplicates: said.duplicates, status: status ?? 0, attempts };
  }
  const { reason } = verdict;
  const why = whyLost(answer, { reason, attempts, said });
  const cause = answer.kind === "failed" ? answer.cause : undefined;
  return { kind: "lost", loss: { reason, code: said.code ?? reason, why, status, attempts, cause } };
}
