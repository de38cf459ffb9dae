import { Hono } from "hono";
import type { Bodies } from "../http/body.ts";
import { respond, respondFault } from "../http/respond.ts";
import type { Config } from "../model/config.ts";
import { type Fault, fault } from "../model/fault.ts";
import type { Clock, Handle, RequestDeletion } from "../model/ports.ts";
import type { Rejections } from "../model/refusal.ts";
import type { Reload } from "../model/reload.ts";
import type { Report } from "../model/report.ts";
import type { StoreHealth } from "../model/space.ts";
import { type At, type Ms, SECOND } from "../model/units.ts";
import { checkAccess } from "./access.ts";
import { postDeletion } from "./deletions.ts";
import { type DeliveriesWorld, getDeliveries, getDelivery } from "./deliveries.ts";
import { postDiscard, postMove } from "./destinations.ts";
import { type EventsWorld, getEvent } from "./events.ts";
import { type PauseWorld, postPause, postResume } from "./pause.ts";
import { getRejected } from "./rejected.ts";
import { postReload } from "./reload.ts";
import { postReplay, postRetry, type ReplayWorld } from "./replay.ts";
import { getStatus, type StatusWorld } from "./status.ts";
import type { UnservedWorld } from "./unserved.ts";

/** While the store fails, it is tried at most so often, however often somebody asks whether it is ready. */
const PROBE_EVERY: Ms = 5 * SECOND;

export type AdminWorld = StatusWorld &
  UnservedWorld &
  PauseWorld &
  DeliveriesWorld &
  EventsWorld &
  ReplayWorld & {
    readonly admin: () => Config["admin"];
    readonly clock: Clock;
    readonly bodies: Bodies;
    readonly health: StoreHealth;
    readonly metrics: { text(): Promise<string>; readonly contentType: string };
    readonly requestDeletion: RequestDeletion;
    readonly reload: Reload;
    readonly rejections: Rejections;
    readonly report: Report;
  };

/** The operator's API: health, metrics, deletions, refused calls, deliveries, destinations. It has a listener of its own. */
export function createAdmin(world: AdminWorld): Handle {
  const api = new Hono({ strict: false });
  const whyNotReady = createReadiness(world);

  api.use(async (context, next) => {
    const refusal = checkAccess(context.req.raw, world.admin());
    return refusal ? respondFault(refusal) : next();
  });
  api.get("/healthz", () => respond(200, { status: "alive" }));
  api.get("/readyz", async () => {
    const refusal = await whyNotReady();
    return refusal ? respondFault(refusal) : respond(200, { status: "ready" });
  });
  api.get("/metrics", async () => {
    const headers = { "Content-Type": world.metrics.contentType };
    return new Response(await world.metrics.text(), { headers });
  });
  api.get("/api/status", () => getStatus(world));
  api.get("/api/rejected", (context) => getRejected(context.req.query(), world.rejections));
  addDeliveries(api, world);
  api.get("/api/events/:messageId", (context) => getEvent(context.req.param("messageId"), world));
  api.post("/api/reload", () => postReload(world.reload));
  api.post("/api/deletions", (context) => postDeletion(context.req.raw, world));
  api.post("/api/destinations/:name/discard", (context) =>
    postDiscard(context.req.raw, context.req.param("name"), world),
  );
  api.post("/api/destinations/:name/move", (context) => postMove(context.req.raw, context.req.param("name"), world));
  api.post("/api/destinations/:name/pause", (context) => postPause(context.req.param("name"), world));
  api.post("/api/destinations/:name/resume", (context) => postResume(context.req.param("name"), world));
  api.notFound((context) => respondFault(fault("not_found", `nothing is at ${context.req.path.slice(0, 100)}`)));
  api.onError((error) => {
    world.report.unexpected("answer the operator", error);
    return respondFault(fault("internal", "something unexpected went wrong; see the log"));
  });
  return (request) => api.fetch(request);
}

function addDeliveries(api: Hono, world: AdminWorld): void {
  api.get("/api/deliveries", (context) => getDeliveries(context.req.query(), world));
  api.get("/api/deliveries/:id", (context) => getDelivery(context.req.param("id"), world));
  api.post("/api/deliveries/:id/retry", (context) => postRetry(context.req.param("id"), world));
  api.post("/api/replay", (context) => postReplay(context.req.raw, world));
}

const UNWRITABLE = fault("store_failed", "the outbox cannot be written; see the log for the reason", PROBE_EVERY);

/**
 * Ready is who would take a call that came now: a full store would not, so whoever balances load should ask another.
 * Else it is the verdict of the last commit; after a failure a probe finds out when the store is well again.
 */
function createReadiness({ clock, health }: AdminWorld): () => Promise<Fault | null> {
  let probedAt: At = Number.NEGATIVE_INFINITY;
  return async function whyNotReady() {
    const refusal = health.refusal();
    if (refusal || health.writable()) return refusal;
    if (clock.now() - probedAt < PROBE_EVERY) return UNWRITABLE;
    probedAt = clock.now();
    return (await health.probe()) ? null : UNWRITABLE;
  };
}
