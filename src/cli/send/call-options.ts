import type { Command } from "commander";
import { CALL_TYPES, type CallType, type JsonObject } from "../../model/event.ts";
import { createRandom } from "../../runtime/random.ts";
import { readData, readObject } from "../input.ts";
import { buildCall, type CallOptions, type CallParts, TEST_CALLS, TEST_USER } from "./call.ts";

/** The options of commands that are about one call. */
export type OneCall = CallOptions & { readonly data?: string };

/** The description of the argument. */
export const TYPES_OF_CALL = "identify, track, page, screen, group or alias";

export function addCallOptions(command: Command): void {
  const { track, page, group, alias } = TEST_CALLS;
  command
    .optionsGroup("The call:")
    .option("--user <id>", `userId (default: ${TEST_USER})`)
    .option("--anonymous <id>", "anonymousId, for any call but alias")
    .option("--event <name>", `for track (default: ${track.event})`)
    .option("--name <name>", `for page and screen (default: ${page.name})`)
    .option("--category <name>", "for page and screen")
    .option("--group <id>", `groupId, for group (default: ${group.groupId})`)
    .option("--previous <id>", `previousId, for alias (default: ${alias.previousId})`)
    .option("--properties <json>", "for track, page and screen")
    .option("--traits <json>", "for identify and group")
    .option("--context <json>", "for any call")
    .option("--integrations <json>", 'who gets it: {"All": false, "crm": true}')
    .option("--timestamp <time>", "when it happened (default: now)")
    .option("--message-id <id>", "by which repeats are recognised (default: a new one)")
    .option("--data <json>", "a whole call as JSON; or @file, or - for stdin");
}

export type ReadCall = { readonly type: CallType; readonly call: JsonObject };

/** The call that the options describe, or why they describe none. A whole call may name its type itself. */
export async function readCall(given: CallType | undefined, options: OneCall): Promise<ReadCall | string> {
  const data = await readData(options.data);
  if (typeof data === "string") return data;
  const type = given ?? typeIn(data);
  if (type === undefined) return `name the type of call: ${CALL_TYPES.join(", ")}`;
  const random = createRandom();
  const call = buildCall(type, { options, data, newId: () => `send-${random.hex(10)}` });
  return typeof call === "string" ? call : { type, call };
}

/** What is no JSON has any type here: building the call says what is wrong with it. */
function typeIn(data: CallParts["data"]): CallType | undefined {
  const whole = data === null ? {} : readObject(data.text, data.from);
  return typeof whole === "string" ? "track" : CALL_TYPES.find((known) => known === whole.type);
}
