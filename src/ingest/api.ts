import { Hono } from "hono";
import { pathOf } from "../http/path.ts";
import { respondFault } from "../http/respond.ts";
import { CALL_TYPES } from "../model/event.ts";
import { type Fault, fault } from "../model/fault.ts";
import type { Handle } from "../model/ports.ts";
import { type PathKind, type TakeWorld, take } from "./take.ts";

/** The paths that take calls, each with or without a slash at its end. */
const CALL_PATHS: ReadonlyMap<string, PathKind> = new Map([
  ...CALL_TYPES.map((type) => [`/v1/${type}`, type] as const),
  ["/v1/batch", "batch"] as const,
]);

/**
 * The collection API: what programs and pages talk to (SPEC.md 4.2). Calls are most of what comes and their paths are
 * few, so they are looked up in a table, at a fraction of what a router costs; all else is Hono's.
 */
export function createIngest(world: TakeWorld): Handle {
  const others = createOthers();

  return async function handle(request) {
    const kind = CALL_PATHS.get(pathOf(request.url));
    const response = await (kind && request.method === "POST"
      ? takeSafely(request, kind, world)
      : others.fetch(request));
    world.report.requestAnswered(response.status);
    return response;
  };
}

async function takeSafely(request: Request, kind: PathKind, world: TakeWorld): Promise<Response> {
  try {
    return await take(request, kind, world);
  } catch (error) {
    world.report.unexpected("answer a call", error);
    return respondFault(fault("internal", "something unexpected went wrong; the call was not accepted"));
  }
}

/** What is not a call. */
function createOthers(): Hono {
  const api = new Hono({ strict: false });
  for (const path of CALL_PATHS.keys()) {
    api.all(path, () => {
      const response = respondFault(fault("method_not_allowed", `${path} takes POST`));
      response.headers.set("Allow", "POST");
      return response;
    });
  }
  api.notFound((context) => respondFault(notFound(context.req.path)));
  return api;
}

function notFound(path: string): Fault {
  const known = [...CALL_PATHS.keys()].join(", ");
  return fault("not_found", `nothing is at ${path.slice(0, 100)}; calls are taken at ${known}`);
}
