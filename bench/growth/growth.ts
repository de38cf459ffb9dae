/**
 * Whether an event costs as much with millions of rows in the store as with few: for messageIds of each kind, for one
 * destination and many, and in small requests and large ones. Run by `make bench BENCH=growth`.
 */
import { writeFileSync } from "node:fs";
import { describe } from "../machine.ts";
import { profiled } from "../profile.ts";
import type { Tools } from "../run.ts";
import { withTools } from "../run.ts";
import { type Grown, judge, judgeShared, writeGrowth } from "./judge.ts";
import { measureCosts } from "./measures.ts";
import { GROWTH_USAGE, type GrowthOptions, readGrowthOptions } from "./options.ts";
import { fillStores, removeStores, type Store } from "./stores.ts";
import { type MeasureName, type Variation, variationsOf } from "./variations.ts";

export async function benchGrowth(argv: readonly string[]): Promise<void> {
  const options = readGrowthOptions(argv);
  if (options === "help") console.log(GROWTH_USAGE);
  else await withTools(options, async (tools) => tell(options, await measureAll(options, tools)));
}

async function measureAll(options: GrowthOptions, tools: Tools): Promise<readonly Grown[]> {
  const grown: Grown[] = [];
  for (const variation of variationsOf(options.series)) {
    console.error(`filling stores: ${variation.label}`);
    const stores = await fillStores(options.amounts.levels, variation, tools);
    for (const measure of variation.measures.filter((one) => options.measures.includes(one))) {
      const costs = await measureOne({ measure, variation, stores }, options, tools);
      grown.push({ measure, variation, costs });
      const all = costs.map(({ rows, micros }) => `${rows}: ${micros.toFixed(2)} µs`);
      console.error(`${measure}, ${variation.label}: ${all.join(", ")}`);
    }
    removeStores(stores);
  }
  return grown;
}

type One = { readonly measure: MeasureName; readonly variation: Variation; readonly stores: readonly Store[] };

async function measureOne({ measure, variation, stores }: One, { profile, amounts }: GrowthOptions, tools: Tools) {
  if (!profile) return measureCosts(measure, stores, { variation, amounts, tools });
  const costs = [];
  for (const store of stores) {
    const { fairlead, folder } = profiled(`growth ${variation.label} ${measure} ${store.rows}`);
    costs.push(...(await measureCosts(measure, [store], { variation, amounts, tools: { ...tools, fairlead } })));
    console.error(folder);
  }
  return costs;
}

function tell(options: GrowthOptions, grown: readonly Grown[]): void {
  const judged = grown.filter(({ costs }) => costs.length > 0).map(judge);
  const about = describe(options);
  console.log(`${about.text}\nprocessor time for an event, medians of ${options.amounts.rounds} round(s)\n`);
  console.log(writeGrowth(judged));
  writeFileSync(
    options.out,
    `${JSON.stringify({ ...about.facts, options, judged, shared: judgeShared(judged), grown }, null, 2)}\n`,
  );
}
