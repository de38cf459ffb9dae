import { respond } from "../http/respond.ts";
import { FAULT_STATUS } from "../model/fault.ts";
import type { Reload } from "../model/reload.ts";

/**
 * `POST /api/reload`: answers what is different now, what has to wait for a restart, and the warnings; or with
 * `config_invalid` why nothing was changed, and all that is wrong.
 */
export async function postReload(reload: Reload): Promise<Response> {
  const reloaded = await reload();
  if (reloaded.kind === "reloaded") {
    const { changes, needsRestart, problems } = reloaded;
    return respond(200, { success: true, changes, needsRestart, problems });
  }
  const { reason, problems } = reloaded;
  const message = `the config is not taken: ${reason}`;
  const refusal = { success: false, code: "config_invalid", message, error: message, problems };
  return respond(FAULT_STATUS.config_invalid, refusal);
}
