import { isFault } from "../../../src/model/fault.ts";
import { KB } from "../../../src/model/units.ts";
import type { Rows } from "../world/rows.ts";
import { meet, type World, wrong } from "../world/world.ts";

/** Nothing has happened for longer than it takes to count: the daemon has counted of each source what waits, to the byte. */
export async function checkWaitingBytes(world: World, { deliveries }: Rows): Promise<void> {
  if (world.shape.maxWaiting === 0) return;
  const waits = new Map<string, number>();
  for (const { event, destination, source, state } of deliveries.values()) {
    if (state !== "waiting") continue;
    const found = await world.life.store?.lookup.delivery({ id: event, destination });
    const body = !found || isFault(found) ? "" : found.body;
    waits.set(source, (waits.get(source) ?? 0) + Buffer.byteLength(body) + KB / 2);
  }
  const asked = new Request("http://127.0.0.1:8081/api/status", { headers: { host: "127.0.0.1:8081" } });
  const { json } = await world.life.ask(8081, asked);
  for (const { name, limits } of json.sources as readonly Source[]) {
    const bytes = limits?.waiting?.bytes ?? null;
    if (bytes === null) continue;
    meet(world, "bytes counted", bytes);
    const right = waits.get(name) ?? 0;
    if (bytes !== right) wrong(world, `${right} bytes of ${name} wait, and ${bytes} are counted`);
  }
}

type Source = {
  readonly name: string;
  readonly limits: { readonly waiting: { readonly bytes: number | null } | null } | null;
};
