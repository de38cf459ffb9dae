import type { Act } from "../act.ts";
import { command } from "../world/ask.ts";
import { USERS } from "../world/calls.ts";
import { SOURCES, type SourceName } from "../world/shape.ts";
import { meet, wrong } from "../world/world.ts";

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
      if (status === 200 && suppress) for (const place of places) world.suppressed.add(place);
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
      if (status === 200) for (const place of places) world.maybeSuppressed.delete(place);
      else if (json.code !== "store_failed") wrong(world, `a lift was answered ${json.code}`);
    });
    await world.life.clock.rest();
  },
};
