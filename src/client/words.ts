/** How answers are told, in lines for `debug` and in the messages of errors. */
import { readAnswer, type Said } from "./answer.ts";
import { is2xx, type Verdict } from "./judge.ts";
import type { FinalAnswer } from "./post.ts";
import { showCauses } from "./show.ts";

/** `response 200 OK`, as the Go client writes it; with what a refusal says. */
export function answerLine(answer: FinalAnswer): string {
  if (answer.kind !== "answered") return `error sending request: ${describe(answer)}`;
  const { status, body } = answer;
  const ok = is2xx(status) && readAnswer(body).success === true;
  return ok ? `response ${statusLine(answer)}` : `response ${statusLine(answer)} – ${short(body)}`;
}

export function againLine({ afterMs, counted }: Verdict & { kind: "again" }): string {
  return `trying again in ${afterMs / 1_000} s${counted ? "" : ", as the server asks"}`;
}

export type Lost = {
  readonly reason: "refused" | "gave_up";
  readonly attempts: number;
  readonly said: Said;
};

/** Why a batch is lost, as a clause. */
export function whyLost(answer: FinalAnswer, { reason, attempts, said: { code, message } }: Lost): string {
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
