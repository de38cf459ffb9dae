import { Hono } from "hono";
import { respond, respondFault } from "../http/respond.ts";
import { fault, isFault, StoreAway, unreadableNow } from "../model/fault.ts";
import type { Handle } from "../model/ports.ts";
import { accessOf, checkAccess, READ_ONLY } from "./access.ts";
import { serveAudiences } from "./audiences.ts";
import { serveDaemon } from "./daemon.ts";
import { serveDashboard } from "./dashboard.ts";
import { serveDeletions } from "./deletions.ts";
import { serveDeliveries } from "./deliveries.ts";
import { serveDestinations } from "./destinations.ts";
import { serveLive } from "./live.ts";
import { describeApi, openApiRoute } from "./openapi.ts";
import { serveRejected } from "./rejected.ts";
import { serveReplay } from "./replay.ts";
import { type Asked, type Handler, type Route, readBody, readQuery } from "./route.ts";
import { serveSeries } from "./series.ts";
import { serveStatus } from "./status.ts";
import { serveTryCall } from "./try-call.ts";
import type { AdminWorld } from "./world.ts";

/** The operator's API, on a listener of its own. */
export function createAdmin(world: AdminWorld): Handle {
  const api = createApi(world);
  return (request) => api.fetch(request);
}

/** The same as a Hono app. Tests list its routes. */
export function createApi(world: AdminWorld): Hono {
  const api = new Hono({ strict: false });
  const routes: Route[] = [];
  let openApi: Readonly<Record<string, unknown>> | null = null;

  api.use(async (context, next) => {
    const refusal = checkAccess(context.req.raw, world.admin());
    return refusal ? respondFault(refusal) : next();
  });
  api.notFound((context) =>
    respondFault(fault("not_found", `there is no such path: ${context.req.path.slice(0, 100)}`)),
  );
  api.onError((error) => {
    if (error instanceof StoreAway) {
      world.report.storeFailed("answer the operator", error);
      return respondFault(unreadableNow(error));
    }
    world.report.unexpected("answer the operator", error);
    return respondFault(fault("internal", "something unexpected went wrong; see the log"));
  });
  serve(openApiRoute, () => {
    openApi ??= describeApi(routes, world.version);
    return openApi;
  });
  for (const serveSome of ALL) serveSome(serve, world);
  serveDashboard(api, world);
  return api;

  /** Serves a route and adds it to `/openapi.json`. */
  function serve<const R extends Route>(route: R, handle: Handler<R>): void {
    routes.push(route);
    api.on(route.method, [route.path], async ({ req }) => {
      if (route.full && accessOf(req.raw, world.admin()) !== "full") return respondFault(READ_ONLY);
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

const ALL = [
  serveDaemon,
  serveStatus,
  serveSeries,
  serveLive,
  serveRejected,
  serveDeliveries,
  serveTryCall,
  serveReplay,
  serveDestinations,
  serveDeletions,
  serveAudiences,
];
