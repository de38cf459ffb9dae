import * as v from "valibot";
import { type Fault, fault } from "../model/fault.ts";
import type { Clock } from "../model/ports.ts";
import type { StoreHealth } from "../model/space.ts";
import { type At, type Ms, SECOND } from "../model/units.ts";
import { about } from "./answers/fields.ts";
import { answer, route } from "./route.ts";

/** While the store fails, it is tried at most so often, however often somebody asks whether it is ready. */
const PROBE_EVERY: Ms = 5 * SECOND;

export type HealthWorld = {
  readonly clock: Pick<Clock, "now">;
  readonly health: StoreHealth;
};

export type MetricsWorld = { readonly metrics: { text(): Promise<string>; readonly contentType: string } };

export const healthRoute = route({
  id: "getHealth",
  method: "get",
  path: "/healthz",
  summary: "Whether the daemon is alive",
  answers: { 200: about("It is.", v.strictObject({ status: v.literal("alive") })) },
});

export const readinessRoute = route({
  id: "getReadiness",
  method: "get",
  path: "/readyz",
  summary: "Whether the daemon would take a call now",
  answers: { 200: about("It would.", v.strictObject({ status: v.literal("ready") })) },
  faults: ["store_full", "store_failed"],
});

export const metricsRoute = route({
  id: "getMetrics",
  method: "get",
  path: "/metrics",
  summary: "Metrics for Prometheus",
  answers: { 200: about("The metrics, in Prometheus' text format.", v.string()) },
  type: "text/plain",
});

export function getHealth(): Response {
  return answer(healthRoute, { status: "alive" });
}

/** `GET /readyz`, as the last commit went, or a probe since. */
export function createReadiness(world: HealthWorld): () => Promise<Response> {
  const whyNotReady = createWhyNotReady(world);
  return async () => answer(readinessRoute, (await whyNotReady()) ?? { status: "ready" });
}

export async function getMetrics(world: MetricsWorld): Promise<Response> {
  return new Response(await world.metrics.text(), { headers: { "Content-Type": world.metrics.contentType } });
}

const UNWRITABLE = fault("store_failed", "the outbox cannot be written; see the log for the reason", PROBE_EVERY);

/**
 * Ready is who would take a call that came now: a full store would not, so whoever balances load should ask another.
 * Else it is the verdict of the last commit; after a failure a probe finds out when the store is well again.
 */
function createWhyNotReady({ clock, health }: HealthWorld): () => Promise<Fault | null> {
  let probedAt: At = Number.NEGATIVE_INFINITY;
  return async function whyNotReady() {
    const { refusal, writable } = await health.state();
    if (refusal || writable) return refusal;
    if (clock.now() - probedAt < PROBE_EVERY) return UNWRITABLE;
    probedAt = clock.now();
    return (await health.probe()) ? null : UNWRITABLE;
  };
}
