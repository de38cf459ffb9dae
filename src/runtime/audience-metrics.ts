import type { Computation } from "../model/audience.ts";
import { Gauge, type Registry } from "./prom.ts";
import { createTally } from "./tally.ts";

/** How many users have changed. */
export function declareChanges(registry: Registry) {
  return {
    audienceChanges: createTally({
      registry,
      name: "fairlead_audience_changes_total",
      help: "Users who have entered or left an audience of the source.",
      labels: ["source", "change"],
      known: ["added", "removed"],
    }),
    traitChanges: createTally({
      registry,
      name: "fairlead_trait_changes_total",
      help: "Users who have got another value of a computed trait of the source, or their first one, or have it no more.",
      labels: ["source", "change"],
      known: ["changed", "removed"],
    }),
  };
}

/** What is in the store when somebody reads the metrics. */
export function declareMembers(registry: Registry, all: () => Promise<readonly Computation[]>): void {
  const kinds = [
    { kind: "audience", name: "fairlead_audience_members", help: "Users in the audience." },
    { kind: "trait", name: "fairlead_trait_users", help: "Users with a value of the computed trait." },
  ] as const;
  for (const { kind, ...naming } of kinds) {
    new Gauge({
      ...naming,
      labelNames: ["source", kind],
      registers: [registry],
      async collect() {
        const computations = await all();
        this.reset();
        for (const one of computations)
          if (one.class === kind) this.set({ source: one.source, [kind]: one.key }, one.size);
      },
    });
  }
}
