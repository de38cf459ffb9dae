import * as v from "valibot";
import { type Fault, fault, isFault } from "../model/fault.ts";
import { SPANS, type Subject } from "../model/series.ts";
import { series as shape } from "../wire/series.ts";
import { unknownName } from "./destinations.ts";
import { type Answered, type Asked, route, type Serve, textQuery, wallTime } from "./route.ts";
import type { AdminWorld } from "./world.ts";

/** Charts of the daemon, of a destination or of a source. */
export function serveSeries(serve: Serve, world: AdminWorld): void {
  serve(seriesRoute, ({ query }) => getSeries(query, world));
}

const seriesRoute = route({
  id: "getSeries",
  method: "get",
  path: "/api/series",
  summary: "Show charts of the last hour or day",
  description:
    "Kept in memory since the daemon's start: an hour has points of five seconds, a day points of a minute. Without a name, the series of this daemon: " +
    "`accepted`, `refused`, `delivered`, `failed` and `waiting` of this daemon. Of a destination: `delivered`, `failed`, " +
    "`waiting`, `p50` and `p99`. Of a source: `accepted` and `refused`.",
  query: v.strictObject(
    {
      span: v.pipe(v.picklist(SPANS, "must be 1h or 1d"), v.description("How far back.")),
      destination: textQuery,
      source: textQuery,
    },
    ({ path, expected }) =>
      path && expected !== "never" ? "is missing: 1h or 1d" : "is unknown; known are span, destination and source",
  ),
  answers: { 200: shape },
  faults: ["unknown_destination", "unknown_source"],
});

type SeriesWorld = Pick<AdminWorld, "series" | "destinations" | "sources" | "timeline">;

function getSeries(query: Asked<typeof seriesRoute>["query"], world: SeriesWorld): Answered<typeof seriesRoute> {
  const subject = subjectOf(query, world);
  if (isFault(subject)) return subject;
  const { since, until, ...found } = world.series.read(query.span, subject);
  return { since: wallTime(since, world.timeline), until: wallTime(until, world.timeline), ...found };
}

type Named = { readonly destination?: string | undefined; readonly source?: string | undefined };

function subjectOf({ destination, source }: Named, world: SeriesWorld): Subject | Fault {
  if (destination !== undefined && source !== undefined)
    return fault("invalid_request", "destination and source exclude each other");
  const refusal = refuseUnknown({ destination, source }, world);
  if (refusal) return refusal;
  if (destination !== undefined) return { kind: "destination", name: destination };
  return source === undefined ? { kind: "daemon" } : { kind: "source", name: source };
}

/** The fault for a name that is not in the config; else null. */
export function refuseUnknown(
  { destination, source }: Named,
  { destinations, sources }: Pick<AdminWorld, "destinations" | "sources">,
): Fault | null {
  return refuse("unknown_destination", destination, destinations()) ?? refuse("unknown_source", source, sources());
}

type Code = Parameters<typeof unknownName>[0];

function refuse(code: Code, name: string | undefined, all: readonly { readonly name: string }[]): Fault | null {
  const names = all.map((one) => one.name);
  return name === undefined || names.includes(name) ? null : unknownName(code, name, names);
}
