import type { Act } from "../acts.ts";
import { command } from "../world/ask.ts";
import { USERS } from "../world/calls.ts";
import { beginStop, endStop } from "../world/clocks.ts";
import { ALL_TYPES, DESTINATIONS, type DestinationName, SOURCES, urlOf } from "../world/shape.ts";
import { upset } from "../world/tracks.ts";
import { meet, onceHeard, type World, wrong } from "../world/world.ts";

type Paused = { readonly destination: DestinationName };

/** An operator pauses a destination. */
export const pause: Act<Paused> = {
  choose: (chance) => ({ destination: chance.pick(DESTINATIONS) }),
  async run(world, { destination }) {
    beginStop(world, destination, { why: "paused", from: world.life.clock.now() });
    command(world, { path: `/api/destinations/${destination}/pause`, body: undefined }, ({ status }) => {
      if (status !== 200) return;
      meet(world, "pauses");
      onceHeard(world, () => pauseSurely(world, destination));
    });
    await world.life.clock.rest();
  },
};

/** Or lets it go on. */
export const resume: Act<Paused> = {
  choose: (chance) => ({ destination: chance.pick(DESTINATIONS) }),
  run: (world, { destination }) => resumeOne(world, destination),
};

export async function resumeOne(world: World, destination: DestinationName): Promise<void> {
  world.paused.delete(destination);
  endStop(world, destination, "surely");
  command(world, { path: `/api/destinations/${destination}/resume`, body: undefined }, ({ status, json }) => {
    if (status === 200 && json.paused === false) endStop(world, destination, "paused");
    else if (status !== 404) onceHeard(world, () => pauseSurely(world, destination));
  });
  await world.life.clock.rest();
}

function pauseSurely(world: World, destination: DestinationName): void {
  world.paused.add(destination);
  beginStop(world, destination, { why: "surely", from: world.life.clock.now() });
}

const UNSERVED_REFUSALS = [
  "unknown_destination",
  "destination_in_use",
  "destination_busy",
  "invalid_request",
  "store_failed",
];

/** An operator has what waits for a destination that is not served go to another one. */
export const move: Act<{ from: DestinationName; to: DestinationName; limit: number; pausing: boolean }> = {
  choose: (chance) => ({
    from: chance.pick(DESTINATIONS),
    to: chance.pick(DESTINATIONS),
    limit: chance.pick([1, 5, 500]),
    pausing: chance.happens(0.7),
  }),
  async run(world, { from, to, limit, pausing }) {
    if (pausing) await pause.run(world, { destination: from });
    world.moving = { from, to };
    world.discarding = from;
    command(world, { path: `/api/destinations/${from}/move`, body: { to, limit } }, hearUnserved(world, "moved"));
    await world.life.clock.rest();
    upset(world.turns, world.life.clock.now());
  },
};

/** Or gives it up. */
export const discard: Act<{ from: DestinationName; limit: number; pausing: boolean }> = {
  choose: (chance) => ({
    from: chance.pick(DESTINATIONS),
    limit: chance.pick([1, 5, 500]),
    pausing: chance.happens(0.7),
  }),
  async run(world, { from, limit, pausing }) {
    if (pausing) await pause.run(world, { destination: from });
    world.discarding = from;
    command(world, { path: `/api/destinations/${from}/discard`, body: { limit } }, hearUnserved(world, "discarded"));
    await world.life.clock.rest();
  },
};

function hearUnserved(world: World, what: "moved" | "discarded") {
  return ({ status, json }: { status: number; json: Readonly<Record<string, unknown>> }): void => {
    if (status === 200) meet(world, what, Number(json[what]));
    else if (!UNSERVED_REFUSALS.includes(String(json.code))) wrong(world, `${what}: answered ${json.code}`);
  };
}

type Filter = Readonly<Record<string, string>>;
type ReplayWish = { readonly filter: Filter; readonly limit: number; readonly dryRun: boolean };

/** An operator has what was settled sent again: page by page, or only counts it. */
export const replay: Act<ReplayWish> = {
  choose(chance) {
    const filter: Record<string, string> = {};
    if (chance.happens(0.6)) filter.state = chance.pick(["delivered", "delivered", "failed", "expired"]);
    if (chance.happens(0.4)) filter.destination = chance.pick(DESTINATIONS);
    if (chance.happens(0.1)) filter.source = chance.pick(SOURCES);
    if (chance.happens(0.1)) filter.type = chance.pick(ALL_TYPES);
    if (chance.happens(0.1)) filter.user = chance.pick(USERS);
    if (chance.happens(0.2)) filter.since = chance.pick(["1m", "1h", "2d"]);
    return { filter, limit: chance.pick([1, 3, 500]), dryRun: chance.happens(0.15) };
  },
  async run(world, wish) {
    world.replaying = !wish.dryRun;
    await page(world, wish, { cursor: null, pages: 0 });
  },
};

type Page = { readonly cursor: string | null; readonly pages: number };

async function page(world: World, wish: ReplayWish, { cursor, pages }: Page): Promise<void> {
  let next: string | null = null;
  command(world, { path: "/api/replay", body: { ...wish, cursor } }, ({ status, json }) => {
    if (status !== 200) return hearReplayRefusal(world, json.code, wish.filter);
    meet(world, wish.dryRun ? "counted for replay" : "replayed", Number(json.replayed));
    if (!wish.dryRun) world.replayed += Number(json.replayed);
    next = json.cursor as string | null;
  });
  await world.life.clock.rest();
  if (next !== null && pages < 20) await page(world, wish, { cursor: next, pages: pages + 1 });
}

function hearReplayRefusal(world: World, code: unknown, { destination }: Filter = {}): void {
  meet(world, `replay refused: ${code}`);
  // One that was removed, and of which nothing is kept.
  const gone = DESTINATIONS.find((name) => name === destination && !world.shape.destinations[name].listed);
  if (code === "unknown_destination" && gone !== undefined) return;
  if (!["store_full", "store_failed"].includes(String(code))) wrong(world, `a replay was answered ${code}`);
}

/** All that waits for a destination, whatever its receivers have asked for. */
export const retryAll: Act<{ destination: DestinationName }> = {
  choose: (chance) => ({ destination: chance.pick(DESTINATIONS) }),
  async run(world, { destination }) {
    const { tracks, shape, paused, engine } = world;
    if (!paused.has(destination))
      for (const track of tracks.all()) if (track.destination === destination) track.freeAt = 0;
    for (const webhook of [1, 2, 3]) tracks.silentUntil.delete(urlOf(destination, webhook));
    command(world, { path: `/api/destinations/${destination}/retry` }, ({ status, json }) => {
      meet(world, `retry of a destination: ${json.served ?? json.code}`);
      // Beside others it is written down for them.
      if (engine.isShared && json.code === "store_failed") return;
      const isKnown = shape.destinations[destination].listed;
      if (status !== 200 && isKnown) wrong(world, `a retry of ${destination} was answered ${json.code}`);
    });
    await world.life.clock.rest();
  },
};

/** One delivery, whatever its state: which one is told by its place in the outbox. */
export const retry: Act<{ nth: number }> = {
  choose: (chance) => ({ nth: chance.below(1_000) }),
  async run(world, { nth }) {
    const all = [...world.rows.deliveries.values()];
    const row = all[nth % Math.max(1, all.length)];
    if (!row) return;
    world.replaying = row.state !== "waiting" && { messageId: row.messageId, destination: row.destination };
    world.tracks.hurry(row.messageId, row.destination);
    command(world, { path: `/api/deliveries/${row.event}-${row.destination}/retry` }, ({ status, json }) => {
      meet(world, `retry: ${json.did ?? json.code}`);
      if (json.did === "replayed") world.replayed += 1;
      if (json.did === "replayed" && row.state === "waiting") {
        wrong(world, `${row.event}-${row.destination} waited, and was replayed`);
      }
      const known = ["unknown_destination", "unknown_delivery", "user_deleted", "store_full", "store_failed"];
      if (status !== 200 && !known.includes(String(json.code))) wrong(world, `a retry was answered ${json.code}`);
    });
    await world.life.clock.rest();
  },
};
