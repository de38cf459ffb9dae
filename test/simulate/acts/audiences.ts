import type { Act } from "../act.ts";
import type { Chance } from "../random.ts";
import { command } from "../world/ask.ts";
import { PEOPLE } from "../world/calls.ts";
import { SOURCES, type SourceName } from "../world/shape.ts";
import { type Answer, meet, type World, wrong } from "../world/world.ts";

const NAMES = ["buyers", "Big Spenders"] as const;

type Place = { readonly source: SourceName; readonly name: string };

function choosePlace(chance: Chance): Place {
  return { source: chance.pick(SOURCES), name: chance.pick(NAMES) };
}

function pathOf({ source, name }: Place): string {
  return `/api/sources/${source}/audiences/${encodeURIComponent(name)}`;
}

/** A list of all members. */
export const audience: Act<Place & { users: readonly string[]; dryRun: boolean }> = {
  choose: (chance) => ({
    ...choosePlace(chance),
    users: PEOPLE.filter(() => chance.happens(0.5)),
    dryRun: chance.happens(0.1),
  }),
  async run(world, { users, dryRun, ...place }) {
    const before = membersOf(world, place);
    const added = users.filter((user) => !before.has(user));
    const removed = [...before].filter((user) => !users.includes(user));
    const expected = { added: addable(world, place, added), removed: removed.length };
    const path = `${pathOf(place)}${dryRun ? "?dryRun=1" : ""}`;
    command(world, { method: "PUT", path, body: users }, (answer) => hear(world, answer, expected));
    await world.life.clock.rest();
  },
};

/** Some who enter, and some who leave. */
export const members: Act<Place & { add: readonly string[]; remove: readonly string[] }> = {
  choose(chance) {
    const add = PEOPLE.filter(() => chance.happens(0.2));
    return { ...choosePlace(chance), add, remove: PEOPLE.filter((user) => !add.includes(user) && chance.happens(0.2)) };
  },
  async run(world, { add, remove, ...place }) {
    const before = membersOf(world, place);
    const expected = {
      added: addable(
        world,
        place,
        add.filter((user) => !before.has(user)),
      ),
      removed: remove.filter((user) => before.has(user)).length,
    };
    const body = { add, remove };
    command(world, { path: `${pathOf(place)}/members`, body }, (answer) => hear(world, answer, expected));
    await world.life.clock.rest();
  },
};

/** The audience goes, and so do its members. */
export const removal: Act<Place & { silent: boolean }> = {
  choose: (chance) => ({ ...choosePlace(chance), silent: chance.happens(0.5) }),
  async run(world, { silent, ...place }) {
    const expected = { added: { least: 0, most: 0 }, removed: membersOf(world, place).size };
    const path = `${pathOf(place)}${silent ? "?silent=1" : ""}`;
    command(world, { method: "DELETE", path }, (answer) => hear(world, answer, expected));
    await world.life.clock.rest();
  },
};

const REFUSALS = ["sync_running", "unknown_audience", "store_failed", "stopping"];

type Range = { readonly least: number; readonly most: number };
type Expected = { readonly added: Range; readonly removed: number };

/** Those who are suppressed are left out. Of some it is not known: their deletion was not answered yet. */
function addable({ suppressed, maybeSuppressed }: World, { source }: Place, users: readonly string[]): Range {
  const without = (those: ReadonlySet<string>): number =>
    users.filter((user) => !those.has(`${user} ${source}`)).length;
  return { least: without(maybeSuppressed), most: without(suppressed) };
}

function hear(world: World, { status, json }: Answer, { added, removed }: Expected): void {
  meet(world, `audience: ${json.code ?? "synced"}`);
  if (status !== 200) {
    if (!REFUSALS.includes(String(json.code))) wrong(world, `an audience was answered ${json.code}: ${json.message}`);
    return;
  }
  const got = Number(json.added);
  if (got >= added.least && got <= added.most && json.removed === removed) return;
  wrong(
    world,
    `an audience should get ${added.least} to ${added.most} and lose ${removed}, and was answered ${JSON.stringify(json)}`,
  );
}

function membersOf({ rows }: World, { source, name }: Place): ReadonlySet<string> {
  return rows.members.get(`${source} ${name}`) ?? new Set();
}
