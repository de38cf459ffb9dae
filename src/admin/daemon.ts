import * as v from "valibot";
import { respond } from "../http/respond.ts";
import { FAULT_STATUS, type Fault, fault, isFault } from "../model/fault.ts";
import { type At, type Ms, SECOND } from "../model/units.ts";
import { type Answer, about } from "../wire/fields.ts";
import { refusedConfig, reloaded, shownConfig } from "../wire/status.ts";
import { type Answered, type AnswerOf, route, type Serve } from "./route.ts";
import type { AdminWorld } from "./world.ts";

/** The daemon as a whole: health, metrics, reload, and the backup of an outbox that is gone. */
export function serveDaemon(serve: Serve, world: AdminWorld): void {
  serve(healthRoute, () => ({ status: "alive" as const }));
  serve(readinessRoute, createReadiness(world));
  serve(metricsRoute, () => getMetrics(world));
  serve(backupRoute, () => getBackup(world));
  serve(configRoute, () => getConfig(world));
  serve(reloadRoute, () => postReload(world));
}

const healthRoute = route({
  id: "getHealth",
  method: "get",
  path: "/healthz",
  summary: "Whether the daemon is alive",
  answers: { 200: about("It is.", v.strictObject({ status: v.literal("alive") })) },
});

const readinessRoute = route({
  id: "getReadiness",
  method: "get",
  path: "/readyz",
  summary: "Whether the daemon would accept a call now",
  answers: { 200: about("It would.", v.strictObject({ status: v.literal("ready") })) },
  faults: ["store_full", "store_failed"],
});

/** The shortest time between two probes of a failing store, however often readiness is asked for. */
const PROBE_EVERY: Ms = 5 * SECOND;

const UNWRITABLE = fault("store_failed", "the outbox cannot be written; see the log for the reason", PROBE_EVERY);

type Readiness = AnswerOf<typeof readinessRoute> | Fault;

/**
 * `GET /readyz`: whether a call would be accepted now. The last commit tells; after a failed one, probes find out when the
 * store works again.
 */
function createReadiness({ clock, health }: Pick<AdminWorld, "clock" | "health">): () => Promise<Readiness> {
  let probedAt: At = Number.NEGATIVE_INFINITY;
  return async function getReadiness() {
    const { refusal, writable } = await health.state();
    if (refusal) return refusal;
    if (writable) return { status: "ready" };
    if (clock.now() - probedAt < PROBE_EVERY) return UNWRITABLE;
    probedAt = clock.now();
    return (await health.probe()) ? { status: "ready" } : UNWRITABLE;
  };
}

const metricsRoute = route({
  id: "getMetrics",
  method: "get",
  path: "/metrics",
  summary: "Metrics for Prometheus",
  answers: { 200: about("The metrics, in Prometheus' text format.", v.string()) },
  type: "text/plain",
});

async function getMetrics({ metrics }: Pick<AdminWorld, "metrics">): Promise<Response> {
  return new Response(await metrics.text(), { headers: { "Content-Type": metrics.contentType } });
}

const configRoute = route({
  id: "getConfig",
  method: "get",
  path: "/api/config",
  summary: "Show the config in force",
  answers: { 200: shownConfig },
});

/** `GET /api/config`. */
async function getConfig({ configText, lastReload }: AdminWorld): Promise<Answered<typeof configRoute>> {
  const { file, needsRestart } = lastReload();
  const text = await configText();
  const kept = needsRestart.map((key) => `# ${key} has changed: the old value is in force until a restart.\n`);
  return { file, text: [...kept, ...(kept.length > 0 ? ["\n"] : []), text].join("") };
}

const reloadRoute = route({
  id: "reloadConfig",
  method: "post",
  path: "/api/reload",
  summary: "Reload the config",
  description: "All or nothing: an invalid config changes nothing.",
  answers: { 200: reloaded, [FAULT_STATUS.config_invalid]: refusedConfig },
});

/** `POST /api/reload`: what has changed and what needs a restart; or every problem, and nothing has changed. */
async function postReload({ reload }: Pick<AdminWorld, "reload">): Promise<Answered<typeof reloadRoute>> {
  const result = await reload();
  if (result.kind === "reloaded") {
    const { changes, needsRestart, problems } = result;
    return { success: true, changes, needsRestart, problems };
  }
  const { reason, problems } = result;
  const message = `the config was refused: ${reason}`;
  const refused: Answer<typeof refusedConfig> = {
    success: false,
    code: "config_invalid",
    message,
    error: message,
    problems,
  };
  return respond(FAULT_STATUS.config_invalid, refused);
}

const BACKUP_TYPE = "application/vnd.sqlite3";

const backupRoute = route({
  id: "getBackup",
  method: "get",
  path: "/api/backup",
  summary: "Copy what the daemon still holds of an outbox whose file is gone",
  description:
    "Only while `outbox.gone` of the status says so: otherwise `fairlead backup` reads the file itself, without delaying the " +
    "daemon. That command asks here when it has to, and checks what it gets.",
  answers: { 200: about("The outbox, as one SQLite file.", v.string()) },
  type: BACKUP_TYPE,
  full: true,
  faults: ["outbox_in_place", "overloaded", "store_failed"],
});

async function getBackup({ outbox, health, rescue, report }: AdminWorld): Promise<Response | Fault> {
  if ((await health.state()).gone === null) {
    const { path, postgres } = outbox();
    const how = postgres === null ? "fairlead backup reads it directly" : "copy it with pg_dump";
    return fault("outbox_in_place", `${path} is in its place: ${how}`);
  }
  const found = await rescue();
  if (isFault(found)) return found;
  report.daemon("outbox_copied", { bytes: found.size });
  return new Response(found.bytes, { headers: { "Content-Type": BACKUP_TYPE } });
}
