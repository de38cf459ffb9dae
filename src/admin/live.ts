import * as v from "valibot";
import { isFault } from "../model/fault.ts";
import { LIVE_KINDS, type LiveKind } from "../model/live.ts";
import { TYPES } from "../wire/deliveries.ts";
import { liveLine } from "../wire/live.ts";
import { checkAccess } from "./access.ts";
import { type Answered, type Asked, route, type Serve, textQuery } from "./route.ts";
import { refuseUnknown } from "./series.ts";
import type { AdminWorld } from "./world.ts";

/** What happens, as it happens. */
export function serveLive(serve: Serve, world: AdminWorld): void {
  serve(liveRoute, (asked) => getLive(asked, world));
}

const LINES = "application/x-ndjson";

const KIND = `(${LIVE_KINDS.join("|")})`;

const liveRoute = route({
  id: "watchLive",
  method: "get",
  path: "/api/live",
  summary: "Watch what happens to events",
  description:
    "A stream of lines: up to four a second while something happens, else one every five seconds. A line has at most 50 events; " +
    "of more, it has a random sample. A slow reader gets fewer lines. The stream ends after an hour, and when the daemon stops: ask " +
    "again. It shows what this daemon does, not others with the same outbox.",
  query: v.strictObject(
    {
      kind: v.optional(
        v.pipe(
          v.string(),
          v.regex(new RegExp(`^${KIND}(,${KIND})*$`), `must be one or more of ${LIVE_KINDS.join(",")}`),
          v.description("Left out, all."),
        ),
      ),
      source: textQuery,
      destination: textQuery,
      type: v.optional(v.picklist(TYPES, `must be one of ${TYPES.join(", ")}`)),
      user: textQuery,
    },
    "is unknown; known are kind, source, destination, type and user",
  ),
  answers: { 200: liveLine },
  type: LINES,
  faults: ["unknown_destination", "unknown_source", "too_many_watchers", "stopping"],
});

type LiveAsked = Asked<typeof liveRoute>;
type LiveWorld = Pick<AdminWorld, "live" | "admin" | "destinations" | "sources">;

function getLive({ query, request }: LiveAsked, world: LiveWorld): Answered<typeof liveRoute> {
  const refusal = refuseUnknown(query, world);
  if (refusal) return refusal;
  // nginx would keep lines back until it has some kilobytes of them.
  const headers = { "Content-Type": LINES, "Cache-Control": "no-store", "X-Accel-Buffering": "no" };
  // A HEAD request has no body to end the stream.
  if (request.method === "HEAD") return new Response(null, { headers });
  const { kind, ...filter } = query;
  const kinds = kind?.split(",") as LiveKind[] | undefined;
  // The server may reuse the request once it is answered.
  const asked = new Request(request.url, { headers: request.headers });
  const stream = world.live.watch({ kinds, ...filter }, () => checkAccess(asked, world.admin()) === null);
  return isFault(stream) ? stream : new Response(stream, { headers });
}
