/** Stores with so many rows in them, and servers that go on with them. */
import { closeSync, cpSync, fsyncSync, mkdirSync, openSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { writeConfigOf } from "../config.ts";
import type { Server } from "../contender.ts";
import type { Flooded } from "../load.ts";
import { type Tools, withServer } from "../run.ts";
import type { Variation } from "./variations.ts";

/** `folder`: the data of a server that has ended. */
export type Store = { readonly rows: number; readonly folder: string };

/** Whether the receiver of all destinations is there, or nobody listens at its port. */
export type Receiver = "there" | "away";

export type Use = { readonly variation: Variation; readonly receiver: Receiver; readonly tools: Tools };

/** One for each number of rows, which all wait. Each is a copy of the one before, filled further. */
export async function fillStores(
  levels: readonly number[],
  variation: Variation,
  tools: Tools,
): Promise<readonly Store[]> {
  const stores: Store[] = [];
  for (const rows of levels) {
    const store = { rows, folder: join(tools.folder, `growth-${rows}`) };
    const before = stores.at(-1);
    if (before) copy(before.folder, store.folder);
    else mkdirSync(store.folder);
    stores.push(store);
    const use = { variation, receiver: "away", tools } as const;
    await withStore(store, use, (server) => flood(server, rows - (before?.rows ?? 0), use));
  }
  return stores;
}

export function removeStores(stores: readonly Store[]): void {
  for (const { folder } of stores) rmSync(folder, { recursive: true });
}

/** Starts a server on a store, and ends it well, so that the next one finds nothing to mend. */
export async function withStore<T>(store: Store, use: Use, run: (server: Server) => Promise<T>): Promise<T> {
  const { receiver, variation, tools } = use;
  const port = receiver === "there" ? tools.receiverPort : (await tools.sick.ask("ports")).refusing;
  const config = writeConfigOf(Array(variation.destinations).fill(port));
  return withServer("fairlead", { ...tools, config, data: store.folder, endBy: "SIGTERM" }, run);
}

/** The same with a copy of the store, which is thrown away: it has as many rows again the next time. */
export async function withCopy<T>(store: Store, use: Use, run: (server: Server) => Promise<T>): Promise<T> {
  const passing = { ...store, folder: `${store.folder}-copy` };
  copy(store.folder, passing.folder);
  try {
    return await withStore(passing, use, run);
  } finally {
    rmSync(passing.folder, { recursive: true });
  }
}

/** Onto the disk: otherwise the first server that asks for what it writes to be there would write all of it. */
function copy(from: string, to: string): void {
  cpSync(from, to, { recursive: true });
  for (const name of readdirSync(to)) {
    const file = openSync(join(to, name), "r+");
    fsyncSync(file);
    closeSync(file);
  }
}

/** Sends as many calls as become so many rows, and resolves when they are acknowledged. */
export function flood({ port }: Server, rows: number, { variation, tools }: Use): Promise<Flooded> {
  const { ids, eventsPerRequest, small, connections } = variation;
  const kind = { ids, eventsPerRequest, small: small ?? false, port, connections };
  return tools.load.ask("flood", { ...kind, requests: requestsOf(rows, variation) });
}

/** How many rows really come of that many: a request has a whole number of them. */
export function wholeRows(rows: number, variation: Variation): number {
  return requestsOf(rows, variation) * variation.eventsPerRequest * variation.destinations;
}

function requestsOf(rows: number, { eventsPerRequest, destinations }: Variation): number {
  return Math.max(1, Math.round(rows / (eventsPerRequest * destinations)));
}
