import * as v from "valibot";
import { respond } from "../http/respond.ts";
import { FAULT_STATUS } from "../model/fault.ts";
import type { Reload } from "../model/reload.ts";
import { about, named, success } from "./answers/fields.ts";
import { answer, type Like, route } from "./route.ts";

const problem = named(
  "Problem",
  v.strictObject({
    severity: v.picklist(["error", "warning"]),
    file: v.string(),
    ...{ line: v.number(), column: v.number() },
    path: about("The key, as `destinations.crm.webhooks[0].url`; empty for the file itself.", v.string()),
    message: v.string(),
    text: about("The line of the file, as it stands there.", v.string()),
  }),
);
const refusal = v.strictObject({
  ...{ success: v.literal(false), code: v.literal("config_invalid"), message: v.string(), error: v.string() },
  problems: about("All that is wrong, if the file could be read.", v.array(problem)),
});

export const reloadRoute = route({
  id: "reloadConfig",
  method: "post",
  path: "/api/reload",
  summary: "Read the config anew",
  description: "All or nothing: a config that is refused changes nothing.",
  answers: {
    200: about(
      "It is in force.",
      v.strictObject({
        success,
        changes: about("What is different now, in words; no secret is among them.", v.array(v.string())),
        needsRestart: about(
          "The keys that keep their old value until the daemon is started again.",
          v.array(v.string()),
        ),
        problems: about("Warnings.", v.array(problem)),
      }),
    ),
    [FAULT_STATUS.config_invalid]: about("It is not taken, and why.", refusal),
  },
});

/**
 * `POST /api/reload`: answers what is different now, what has to wait for a restart, and the warnings; or with
 * `config_invalid` why nothing was changed, and all that is wrong.
 */
export async function postReload(reload: Reload): Promise<Response> {
  const reloaded = await reload();
  if (reloaded.kind === "reloaded") {
    const { changes, needsRestart, problems } = reloaded;
    return answer(reloadRoute, { success: true, changes, needsRestart, problems });
  }
  const { reason, problems } = reloaded;
  const message = `the config is not taken: ${reason}`;
  const said: Like<typeof refusal> = { success: false, code: "config_invalid", message, error: message, problems };
  return respond(FAULT_STATUS.config_invalid, said);
}
