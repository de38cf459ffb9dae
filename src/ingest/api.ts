import { Hono } from "hono";
import { respondFault } from "../http/respond.ts";
import { CALL_TYPES } from "../model/event.ts";
import { fault } from "../model/fault.ts";
import type { Handle } from "../model/ports.ts";
import { type PathKind, type TakeWorld, take } from "./take.ts";

/** The paths that take calls, each with or without a slash at its end. */
const PATHS: readonly (readonly [path: string, kind: PathKind])[] = [
  ...CALL_TYPES.map((type) => [`/v1/${type}`, type] as const),
  ["/v1/batch", "batch"],
];

/** The collection API: what programs and pages talk to (SPEC.md 4.2). */
export function createIngest(world: TakeWorld): Handle {
  const api = new Hono({ strict: false });
  for (const [path, kind] of PATHS) {
    api.post(path, (context) => take(context.req.raw, kind, world));
    api.all(path, () => respondFault(fault("method_not_allowed", `${path} takes POST`)));
  }
  api.notFound((context) => respondFault(notFound(context.req.path)));
  api.onError((error) => {
    world.report.unexpected("answer a call", error);
    return respondFault(fault("internal", "something unexpected went wrong; the call was not accepted"));
  });

  return async function handle(request) {
    const response = await api.fetch(request);
    world.report.requestAnswered(response.status);
    return response;
  };
}

function notFound(path: string): ReturnType<typeof fault> {
  const known = PATHS.map(([one]) => one).join(", ");
  return fault("not_found", `nothing is at ${path.slice(0, 100)}; calls are taken at ${known}`);
}
