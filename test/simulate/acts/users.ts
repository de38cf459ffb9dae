import type { Act } from "../acts.ts";
import type { Chance } from "../random.ts";
import { command } from "../world/ask.ts";
import { PEOPLE, USERS } from "../world/calls.ts";
import { SOURCES, type SourceName } from "../world/shape.ts";
import { type Answer, meet, onceHeard, type World, wrong } from "../world/world.ts";

const NAMES = ["buyers", "Big Spenders"] as const;

type AudiencePlace = { readonly source: SourceName; readonly name: string };

function choosePlace(chance: Chance): AudiencePlace {
  return { source: chance.pick(SOURCES), name: chance.pick(NAMES) };
}

function pathOf({ source, name }: AudiencePlace): string {
  return `/api/sources/${source}/audiences/${encodeURIComponent(name)}`;
}

/** A list of all members. */
export const audience: Act<AudiencePlace & { users: readonly string[]; dryRun: boolean }> = {
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
    command(world, { method: "PUT", path, body: users }, (answer) => hearSync(world, answer, expected));
    await world.life.clock.rest();
  },
};

/** Some who enter, and some who leave. */
export const members: Act<AudiencePlace & { add: readonly string[]; remove: readonly string[] }> = {
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
    command(world, { path: `${pathOf(place)}/members`, body }, (answer) => hearSync(world, answer, expected));
    await world.life.clock.rest();
  },
};

/** The audience goes, and so do its members. */
export const removal: Act<AudiencePlace & { silent: boolean }> = {
  choose: (chance) => ({ ...choosePlace(chance), silent: chance.happens(0.5) }),
  async run(world, { silent, ...place }) {
    const expected = { added: { least: 0, most: 0 }, removed: membersOf(world, place).size };
    const path = `${pathOf(place)}${silent ? "?silent=1" : ""}`;
    command(world, { method: "DELETE", path }, (answer) => hearSync(world, answer, expected));
    await world.life.clock.rest();
  },
};

const SYNC_REFUSALS = ["sync_running", "unknown_audience", "store_failed", "stopping"];

type Range = { readonly least: number; readonly most: number };
type Expected = { readonly added: Range; readonly removed: number };

/** Those who are suppressed are left out. Of some it is not known: their deletion was not answered yet. */
function addable({ suppressed, maybeSuppressed }: World, { source }: AudiencePlace, users: readonly string[]): Range {
  const without = (those: ReadonlySet<string>): number =>
    users.filter((user) => !those.has(`${user} ${source}`)).length;
  return { least: without(maybeSuppressed), most: without(suppressed) };
}

function hearSync(world: World, { status, json }: Answer, { added, removed }: Expected): void {
  meet(world, `audience: ${json.code ?? "synced"}`);
  if (status !== 200) {
    if (!SYNC_REFUSALS.includes(String(json.code)))
      wrong(world, `an audience was answered ${json.code}: ${json.message}`);
    return;
  }
  const got = Number(json.added);
  if (got >= added.least && got <= added.most && json.removed === removed) return;
  wrong(
    world,
    `an audience should get ${added.least} to ${added.most} and lose ${removed}, and was answered ${JSON.stringify(json)}`,
  );
}

function membersOf({ rows }: World, { source, name }: AudiencePlace): ReadonlySet<string> {
  return rows.members.get(`${source} ${name}`) ?? new Set();
}

type Wish = {
  readonly userIds: readonly string[];
  readonly sources: readonly SourceName[] | null;
  readonly erase: boolean;
  readonly suppress: boolean;
};

/** Somebody wants to be forgotten. */
export const deletion: Act<Wish> = {
  choose(chance) {
    const some = USERS.filter(() => chance.happens(0.2));
    return {
      userIds: some.length > 0 ? some : [chance.pick(USERS)],
      sources: chance.happens(0.6) ? null : [chance.pick(SOURCES)],
      erase: chance.happens(0.4),
      suppress: chance.happens(0.3),
    };
  },
  async run(world, { userIds, sources, erase, suppress }) {
    const places = userIds.flatMap((user) => (sources ?? SOURCES).map((source) => `${user} ${source}`));
    // Whether it was taken is not known before it is answered, and never if the process dies before.
    if (erase) for (const place of places) world.erasable.add(place);
    if (suppress) for (const place of places) world.maybeSuppressed.add(place);
    for (const place of places) world.deleted.add(place);
    const body = { userIds, erase, suppress, ...(sources ? { sources } : {}) };
    command(world, { path: "/api/deletions", body }, ({ status, json }) => {
      meet(world, `deletion: ${json.status ?? json.code}`);
      if (status === 200 && suppress) onceHeard(world, () => addAll(world.suppressed, places));
      if (status === 200 || json.code === "store_full" || json.code === "store_failed") return;
      wrong(world, `a deletion was answered ${json.code}`);
    });
    await world.life.clock.rest();
  },
};

/** Whose calls were refused are let in again. */
export const lift: Act<{ user: string }> = {
  choose: (chance) => ({ user: chance.pick(USERS) }),
  async run(world, { user }) {
    const places = SOURCES.map((source) => `${user} ${source}`);
    for (const place of places) world.suppressed.delete(place);
    command(world, { path: "/api/deletions/unsuppress", body: { userIds: [user] } }, ({ status, json }) => {
      meet(world, `lift: ${json.unsuppressed ?? json.code}`);
      if (status === 200) onceHeard(world, () => deleteAll(world.maybeSuppressed, places));
      else if (json.code !== "store_failed") wrong(world, `a lift was answered ${json.code}`);
    });
    await world.life.clock.rest();
  },
};

function addAll(set: Set<string>, some: readonly string[]): void {
  for (const one of some) set.add(one);
}

function deleteAll(set: Set<string>, some: readonly string[]): void {
  for (const one of some) set.delete(one);
}
