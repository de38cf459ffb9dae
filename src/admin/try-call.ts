import * as v from "valibot";
import type { Source } from "../model/config.ts";
import { type Fault, type FaultCode, fault, isFault } from "../model/fault.ts";
import { MB } from "../model/units.ts";
import { triedCall } from "../wire/deliveries.ts";
import { about } from "../wire/fields.ts";
import { unknownName } from "./destinations.ts";
import { type Answered, keysRule, route, type Serve } from "./route.ts";
import type { AdminWorld } from "./world.ts";

/** Who would get an example call, by the config in force. */
export function serveTryCall(serve: Serve, world: AdminWorld): void {
  serve(routeRoute, ({ body }) => postRoute(body, world));
}

const source = about(
  "The source of the config that sends it. If left out, the first one that is enabled.",
  v.optional(v.pipe(v.string("must name a source"), v.nonEmpty("must name a source"))),
);
const call = about("The call as a client sends it, with its type.", v.unknown());

const CALL_FAULTS = [
  "invalid_call",
  "invalid_timestamp",
  "missing_id",
  "missing_event",
  "missing_group_id",
  "missing_previous_id",
  "message_id_too_long",
  "unknown_type",
  "number_out_of_range",
  "too_deep",
  "call_too_large",
] as const satisfies readonly FaultCode[];

const routeRoute = route({
  id: "routeCall",
  method: "post",
  path: "/api/route",
  summary: "Show who would get a call, and why others would not",
  description: "Uses the config in force, and checks the call as if it arrived now. Nothing is stored or sent.",
  body: {
    shape: v.strictObject({ source, call }, keysRule("source and call")),
    // The largest `ingest.maxCall`, however it is written.
    maxBytes: 4 * MB,
    example: '{"call": {"type": "track", "userId": "u1", "event": "Order Completed"}}',
  },
  answers: { 200: triedCall },
  faults: [...CALL_FAULTS, "unknown_source", "source_disabled"],
});

type Asked = { readonly source?: string | undefined; readonly call?: unknown };

function postRoute({ source, call }: Asked, world: AdminWorld): Answered<typeof routeRoute> {
  const sender = findSource(source, world.sources());
  if (isFault(sender)) return sender;
  const results = world.tryCall(sender, call);
  return isFault(results) ? results : { source: sender.name, results };
}

function findSource(name: string | undefined, sources: readonly Source[]): Source | Fault {
  const found = sources.find((one) => (name === undefined ? one.enabled : one.name === name));
  if (found?.enabled) return found;
  if (found) return fault("source_disabled", `the source ${found.name} is disabled: its calls are refused`);
  if (name === undefined) return fault("unknown_source", "the config has no source that is enabled");
  return unknownName(
    "unknown_source",
    name,
    sources.map((one) => one.name),
  );
}
