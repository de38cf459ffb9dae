import * as v from "valibot";
import { respondFault } from "../http/respond.ts";
import { fault, isFault } from "../model/fault.ts";
import type { Rescue } from "../model/ports.ts";
import type { Report } from "../model/report.ts";
import type { StoreHealth } from "../model/space.ts";
import { about } from "./answers/fields.ts";
import { route } from "./route.ts";

export type BackupWorld = {
  readonly outbox: () => { readonly path: string };
  readonly health: Pick<StoreHealth, "state">;
  readonly rescue: Rescue;
  readonly report: Pick<Report, "daemon">;
};

const TYPE = "application/vnd.sqlite3";

export const backupRoute = route({
  id: "getBackup",
  method: "get",
  path: "/api/backup",
  summary: "What the daemon still has of an outbox whose file is gone",
  description:
    "Only while `outbox.gone` of the status says so: else `fairlead backup` reads the file, and holds nobody up. That command " +
    "asks here by itself, and checks what it gets.",
  answers: { 200: about("The outbox, as one SQLite file.", v.string()) },
  type: TYPE,
  faults: ["outbox_in_place", "overloaded", "store_failed"],
});

export async function getBackup({ outbox, health, rescue, report }: BackupWorld): Promise<Response> {
  const { path } = outbox();
  if ((await health.state()).gone === null)
    return respondFault(fault("outbox_in_place", `${path} is in its place: fairlead backup reads it by itself`));
  const found = await rescue();
  if (isFault(found)) return respondFault(found);
  report.daemon("outbox_copied", { bytes: found.size });
  return new Response(found.bytes, { headers: { "Content-Type": TYPE } });
}
