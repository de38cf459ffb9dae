import type { Sendable } from "../../client/envelope.ts";
import { AnalyticsError } from "../../client/errors.ts";
import type { CallType, JsonObject } from "../../model/event.ts";
import { type Answer, readAnswer } from "./answer.ts";
import { NEVER, openSender, type Requests, type SendWorld, writeCall } from "./library.ts";
import type { Target } from "./target.ts";

export type OneCall = {
  readonly type: CallType;
  readonly call: JsonObject;
  /** Whether it came whole: then it goes out as it stands, for the daemon to judge. */
  readonly isWhole: boolean;
};

/** Sends one call, once, by the client library. Never rejects. */
export async function sendCall(one: OneCall, target: Target, world: SendWorld): Promise<Answer> {
  const { type, call, isWhole } = one;
  if (isWhole) return post({ text: JSON.stringify(call) }, openSender(target, world, alone(type)));
  try {
    return await post(writeCall(type, call, world), openSender(target, world));
  } catch (error) {
    if (!(error instanceof AnalyticsError)) throw error;
    const { code, message } = error;
    return { kind: "invalid", status: null, said: { success: false, code, message } };
  }
}

async function post(call: Sendable, sender: ReturnType<typeof openSender>): Promise<Answer> {
  return readAnswer(await sender.send([call], { signal: NEVER, again: () => false }));
}

/** A request that is the call, and nothing else. */
function alone(type: CallType): Requests {
  return { path: `/v1/${type}`, write: ([call]) => call?.text ?? "" };
}
