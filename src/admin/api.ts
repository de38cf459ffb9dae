import { type Context, Hono } from "hono";
import type { BlankEnv } from "hono/types";
import type { Bodies } from "../http/body.ts";
import { respondFault } from "../http/respond.ts";
import type { Config } from "../model/config.ts";
import { fault } from "../model/fault.ts";
import type { Handle } from "../model/ports.ts";
import type { Rejections } from "../model/refusal.ts";
import type { Reload } from "../model/reload.ts";
import type { Report } from "../model/report.ts";
import { checkAccess } from "./access.ts";
import {
  type AudiencesWorld,
  audienceRoutes,
  deleteComputation,
  getComputation,
  getComputations,
  getComputationsOf,
  membersRoute,
  postMembers,
  putList,
  traitRoutes,
} from "./audiences.ts";
import {
  type BackupWorld,
  backupRoute,
  createReadiness,
  getBackup,
  getHealth,
  getMetrics,
  type HealthWorld,
  healthRoute,
  type MetricsWorld,
  metricsRoute,
  postReload,
  readinessRoute,
  reloadRoute,
} from "./daemon.ts";
import {
  type DeletionsWorld,
  deletionRoute,
  deletionsRoute,
  eraseRoute,
  getDeletion,
  getDeletions,
  getSalt,
  postDeletion,
  postErase,
  postUnsuppress,
  receiptRoute,
  saltRoute,
  unsuppressRoute,
} from "./deletions.ts";
import {
  type DeliveriesWorld,
  deliveriesRoute,
  deliveryRoute,
  type EventsWorld,
  eventRoute,
  getDeliveries,
  getDelivery,
  getEvent,
} from "./deliveries.ts";
import type { UnservedWorld } from "./destinations.ts";
import {
  discardRoute,
  moveRoute,
  type PauseWorld,
  pauseRoute,
  postDiscard,
  postMove,
  postPause,
  postResume,
  postRetryDestination,
  resumeRoute,
  retryDestinationRoute,
} from "./destinations.ts";
import { createOpenApi, openApiRoute } from "./openapi.ts";
import { getRejected, rejectedRoute } from "./rejected.ts";
import { postReplay, postRetry, type ReplayWorld, replayRoute, retryRoute } from "./replay.ts";
import type { Route } from "./route.ts";
import { getStatus, type StatusWorld, statusRoute } from "./status.ts";

export type AdminWorld = StatusWorld &
  UnservedWorld &
  PauseWorld &
  DeliveriesWorld &
  EventsWorld &
  HealthWorld &
  MetricsWorld &
  DeletionsWorld &
  AudiencesWorld &
  BackupWorld &
  ReplayWorld & {
    readonly admin: () => Config["admin"];
    readonly bodies: Bodies;
    readonly reload: Reload;
    readonly rejections: Rejections;
    readonly report: Report;
  };

/** The operator's API: health, metrics, deletions, refused calls, deliveries, destinations. It has a listener of its own. */
export function createAdmin(world: AdminWorld): Handle {
  const api = createApi(world);
  return (request) => api.fetch(request);
}

/** The same, with its routes to be seen. Each is served by `on`, so that `/openapi.json` has it too. */
export function createApi(world: AdminWorld): Hono {
  const api = new Hono({ strict: false });
  const routes: Route[] = [];

  api.use(async (context, next) => {
    const refusal = checkAccess(context.req.raw, world.admin());
    return refusal ? respondFault(refusal) : next();
  });
  on(healthRoute, getHealth);
  on(readinessRoute, createReadiness(world));
  on(metricsRoute, () => getMetrics(world));
  on(openApiRoute, createOpenApi(routes, world));
  on(backupRoute, () => getBackup(world));
  on(statusRoute, () => getStatus(world));
  on(rejectedRoute, ({ req }) => getRejected(req.query(), world));
  on(deliveriesRoute, ({ req }) => getDeliveries(req.query(), world));
  on(deliveryRoute, ({ req }) => getDelivery(req.param("id"), world));
  on(retryRoute, ({ req }) => postRetry(req.param("id"), world));
  on(replayRoute, ({ req }) => postReplay(req.raw, world));
  on(eventRoute, ({ req }) => getEvent(req.param("messageId"), world));
  on(reloadRoute, () => postReload(world.reload));
  on(deletionRoute, ({ req }) => postDeletion(req.raw, world));
  on(deletionsRoute, ({ req }) => getDeletions(req.query(), world));
  on(saltRoute, () => getSalt(world));
  on(receiptRoute, ({ req }) => getDeletion(req.param("id"), world));
  on(unsuppressRoute, ({ req }) => postUnsuppress(req.raw, world));
  on(eraseRoute, ({ req }) => postErase(req.param("id"), world));
  on(discardRoute, ({ req }) => postDiscard(req.raw, req.param("name"), world));
  on(moveRoute, ({ req }) => postMove(req.raw, req.param("name"), world));
  on(pauseRoute, ({ req }) => postPause(req.param("name"), world));
  on(retryDestinationRoute, ({ req }) => postRetryDestination(req.param("name"), world));
  on(resumeRoute, ({ req }) => postResume(req.param("name"), world));
  for (const [kind, routes] of [["audience", audienceRoutes] as const, ["trait", traitRoutes] as const]) {
    on(routes.all, () => getComputations(kind, world));
    on(routes.ofSource, ({ req }) => getComputationsOf(req.param("source"), kind, world));
    on(routes.one, ({ req }) => getComputation({ ...req.param(), class: kind }, world));
    on(routes.put, ({ req }) => putList(req.raw, { ...req.param(), class: kind }, world));
    on(routes.remove, ({ req }) => deleteComputation(req.raw, { ...req.param(), class: kind }, world));
  }
  on(membersRoute, ({ req }) => postMembers(req.raw, { ...req.param(), class: "audience" }, world));
  api.notFound((context) => respondFault(fault("not_found", `nothing is at ${context.req.path.slice(0, 100)}`)));
  api.onError((error) => {
    world.report.unexpected("answer the operator", error);
    return respondFault(fault("internal", "something unexpected went wrong; see the log"));
  });
  return api;

  function on<P extends string>(route: Route & { readonly path: P }, handle: Answering<P>): void {
    routes.push(route);
    api.on(route.method, [route.path], handle);
  }
}

type Answering<P extends string> = (context: Context<BlankEnv, P>) => Response | Promise<Response>;
