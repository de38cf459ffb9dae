import * as v from "valibot";
import { respond, respondFault } from "../http/respond.ts";
import { FAULT_STATUS, type Fault, fault, isFault } from "../model/fault.ts";
import type { Clock, Rescue } from "../model/ports.ts";
import type { Reload } from "../model/reload.ts";
import type { Report } from "../model/report.ts";
import type { StoreHealth } from "../model/space.ts";
import { type At, type Ms, SECOND } from "../model/units.ts";
import { about, named, success } from "./answers/fields.ts";
import { answer, type Like, route } from "./route.ts";

/** While the store fails, it is tried at most so often, however often somebody asks whether it is ready. */
const PROBE_EVERY: Ms = 5 * SECOND;

export type HealthWorld = {
  readonly clock: Pick<Clock, "now">;
  readonly health: StoreHealth;
};

export type MetricsWorld = { readonly metrics: { text(): Promise<string>; readonly contentType: string } };

export const healthRoute = route({
  id: "getHealth",
  method: "get",
  path: "/healthz",
  summary: "Whether the daemon is alive",
  answers: { 200: about("It is.", v.strictObject({ status: v.literal("alive") })) },
});

export const readinessRoute = route({
  id: "getReadiness",
  method: "get",
  path: "/readyz",
  summary: "Whether the daemon would take a call now",
  answers: { 200: about("It would.", v.strictObject({ status: v.literal("ready") })) },
  faults: ["store_full", "store_failed"],
});

export const metricsRoute = route({
  id: "getMetrics",
  method: "get",
  path: "/metrics",
  summary: "Metrics for Prometheus",
  answers: { 200: about("The metrics, in Prometheus' text format.", v.string()) },
  type: "text/plain",
});

export function getHealth(): Response {
  return answer(healthRoute, { status: "alive" });
}

/** `GET /readyz`, as the last commit went, or a probe since. */
export function createReadiness(world: HealthWorld): () => Promise<Response> {
  const whyNotReady = createWhyNotReady(world);
  return async () => answer(readinessRoute, (await whyNotReady()) ?? { status: "ready" });
}

export async function getMetrics(world: MetricsWorld): Promise<Response> {
  return new Response(await world.metrics.text(), { headers: { "Content-Type": world.metrics.contentType } });
}

const UNWRITABLE = fault("store_failed", "the outbox cannot be written; see the log for the reason", PROBE_EVERY);

/**
 * Ready is who would take a call that came now: a full store would not, so whoever balances load should ask another.
 * Else it is the verdict of the last commit; after a failure a probe finds out when the store is well again.
 */
function createWhyNotReady({ clock, health }: HealthWorld): () => Promise<Fault | null> {
  let probedAt: At = Number.NEGATIVE_INFINITY;
  return async function whyNotReady() {
    const refusal = health.refusal();
    if (refusal || health.writable()) return refusal;
    if (clock.now() - probedAt < PROBE_EVERY) return UNWRITABLE;
    probedAt = clock.now();
    return (await health.probe()) ? null : UNWRITABLE;
  };
}

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

export type BackupWorld = {
  readonly outbox: () => { readonly path: string };
  readonly health: Pick<StoreHealth, "gone">;
  readonly rescue: Rescue;
  readonly report: Pick<Report, "daemon">;
};

const BACKUP_TYPE = "application/vnd.sqlite3";

export const backupRoute = route({
  id: "getBackup",
  method: "get",
  path: "/api/backup",
  summary: "What the daemon still has of an outbox whose file is gone",
  description:
    "Only while `outbox.gone` of the status says so: else `fairlead backup` reads the file, and holds nobody up. That command " +
    "asks here by itself, and checks what it gets.",
  answers: { 200: about("The outbox, as one SQLite file.", v.string()) },
  type: BACKUP_TYPE,
  faults: ["outbox_in_place", "overloaded", "store_failed"],
});

export async function getBackup({ outbox, health, rescue, report }: BackupWorld): Promise<Response> {
  const { path } = outbox();
  if (health.gone() === null)
    return respondFault(fault("outbox_in_place", `${path} is in its place: fairlead backup reads it by itself`));
  const found = await rescue();
  if (isFault(found)) return respondFault(found);
  report.daemon("outbox_copied", { bytes: found.size });
  return new Response(found.bytes, { headers: { "Content-Type": BACKUP_TYPE } });
}
