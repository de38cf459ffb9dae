import { Hono } from "hono";
import { respond, respondFault } from "../http/respond.ts";
import { fault, isFault } from "../model/fault.ts";
import type { Handle } from "../model/ports.ts";
import { checkAccess } from "./access.ts";
import {
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
  backupRoute,
  createReadiness,
  getBackup,
  getMetrics,
  healthRoute,
  metricsRoute,
  postReload,
  readinessRoute,
  reloadRoute,
} from "./daemon.ts";
import {
  deletionRoute,
  deletionsRoute,
  eraseRoute,
  getDeletion,
  getDeletions,
  postDeletion,
  postErase,
  postUnsuppress,
  receiptRoute,
  saltRoute,
  unsuppressRoute,
} from "./deletions.ts";
import { deliveriesRoute, deliveryRoute, eventRoute, getDeliveries, getDelivery, getEvent } from "./deliveries.ts";
import {
  discardRoute,
  moveRoute,
  pauseRoute,
  postDiscard,
  postMove,
  postPause,
  postResume,
  postRetryDestination,
  resumeRoute,
  retryDestinationRoute,
} from "./destinations.ts";
import { describeApi, openApiRoute } from "./openapi.ts";
import { getRejected, rejectedRoute } from "./rejected.ts";
import { postReplay, postRetry, replayRoute, retryRoute } from "./replay.ts";
import { type Answered, type Asked, type Route, readBody, readQuery } from "./route.ts";
import { getStatus, statusRoute } from "./status.ts";
import type { AdminWorld } from "./world.ts";

/** The operator's API, on a listener of its own. */
export function createAdmin(world: AdminWorld): Handle {
  const api = createApi(world);
  return (request) => api.fetch(request);
}

/** The same as a Hono app, so that tests can list its routes. */
export function createApi(world: AdminWorld): Hono {
  const api = new Hono({ strict: false });
  const routes: Route[] = [];
  let openApi: Readonly<Record<string, unknown>> | null = null;

  api.use(async (context, next) => {
    const refusal = checkAccess(context.req.raw, world.admin());
    return refusal ? respondFault(refusal) : next();
  });
  api.notFound((context) => respondFault(fault("not_found", `nothing is at ${context.req.path.slice(0, 100)}`)));
  api.onError((error) => {
    world.report.unexpected("answer the operator", error);
    return respondFault(fault("internal", "something unexpected went wrong; see the log"));
  });
  serve(openApiRoute, () => {
    openApi ??= describeApi(routes, world.version);
    return openApi;
  });
  serveDaemon(serve, world);
  serveDeliveries(serve, world);
  serveUsers(serve, world);
  return api;

  /** Every route is served by this, so that `/openapi.json` has it as well. */
  function serve<const R extends Route>(route: R, handle: Handler<R>): void {
    routes.push(route);
    api.on(route.method, [route.path], async ({ req }) => {
      const query = readQuery(route.query, req.query());
      if (isFault(query)) return respondFault(query);
      const body = await readBody(route.body, req.raw, world.bodies);
      if (isFault(body)) return respondFault(body);
      const asked = { request: req.raw, params: req.param(), query: query.value, body: body.value };
      const answer = (await handle(asked as Asked<R>)) as object;
      if (answer instanceof Response) return answer;
      return isFault(answer) ? respondFault(answer) : respond(200, answer);
    });
  }
}

type Serve = <const R extends Route>(route: R, handle: Handler<R>) => void;
type Handler<R extends Route> = (asked: Asked<R>) => Answered<R> | Promise<Answered<R>>;

function serveDaemon(serve: Serve, world: AdminWorld): void {
  serve(healthRoute, () => ({ status: "alive" as const }));
  serve(readinessRoute, createReadiness(world));
  serve(metricsRoute, () => getMetrics(world));
  serve(backupRoute, () => getBackup(world));
  serve(statusRoute, () => getStatus(world));
  serve(reloadRoute, () => postReload(world));
}

function serveDeliveries(serve: Serve, world: AdminWorld): void {
  serve(rejectedRoute, ({ query }) => getRejected(query, world));
  serve(deliveriesRoute, ({ query }) => getDeliveries(query, world));
  serve(deliveryRoute, ({ params }) => getDelivery(params.id, world));
  serve(retryRoute, ({ params }) => postRetry(params.id, world));
  serve(replayRoute, ({ body }) => postReplay(body, world));
  serve(eventRoute, ({ params }) => getEvent(params.messageId, world));
  serve(discardRoute, ({ params, body }) => postDiscard(params.name, body, world));
  serve(moveRoute, ({ params, body }) => postMove(params.name, body, world));
  serve(pauseRoute, ({ params }) => postPause(params.name, world));
  serve(retryDestinationRoute, ({ params }) => postRetryDestination(params.name, world));
  serve(resumeRoute, ({ params }) => postResume(params.name, world));
}

function serveUsers(serve: Serve, world: AdminWorld): void {
  serve(deletionRoute, ({ body }) => postDeletion(body, world));
  serve(deletionsRoute, ({ query }) => getDeletions(query, world));
  serve(saltRoute, async () => ({ salt: await world.deletions.salt() }));
  serve(receiptRoute, ({ params }) => getDeletion(params.id, world));
  serve(unsuppressRoute, ({ body }) => postUnsuppress(body, world));
  serve(eraseRoute, ({ params }) => postErase(params.id, world));
  for (const [kind, routes] of [["audience", audienceRoutes] as const, ["trait", traitRoutes] as const]) {
    serve(routes.all, () => getComputations(kind, world));
    serve(routes.ofSource, ({ params }) => getComputationsOf(params.source, kind, world));
    serve(routes.one, ({ params }) => getComputation({ ...params, class: kind }, world));
    serve(routes.put, ({ request, params, query }) => putList(request, { ...params, ...query, class: kind }, world));
    serve(routes.remove, ({ params, query }) => deleteComputation({ ...params, ...query, class: kind }, world));
  }
  serve(membersRoute, ({ params, body }) => postMembers({ ...params, class: "audience" }, body, world));
}
