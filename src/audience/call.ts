import type { Computation, Member, Sync } from "../model/audience.ts";
import { type Event, ownEvent } from "../model/event.ts";
import type { At } from "../model/units.ts";

/** Both of a sync that runs, and what stands for a user in messageIds. */
export type Of = {
  readonly sync: Pick<Sync, "id">;
  readonly computation: Computation;
  readonly hashOf: (user: string) => string;
};

/**
 * The identify call that tells of a change (SPEC.md 6): the trait is true for a member, false for one who has left; for a
 * computed trait it is the value, or null. Its messageId is the same whenever it is made for this sync and user. `now`: by the
 * wall clock.
 */
export function callFor({ user, value }: Member, { sync, computation, hashOf }: Of, now: At): Event {
  const { class: kind, key } = computation;
  const told = kind === "audience" ? value === true : value;
  return ownEvent({
    type: "identify",
    messageId: `${sync.id}-${hashOf(user)}`,
    userId: user,
    traits: { [key]: told },
    context: { personas: personasOf(computation) },
    at: now,
  });
}

/** Which computation it is about, in the words that receivers of such calls look for. */
function personasOf({ class: kind, id, key, name, source }: Computation): object {
  return {
    computation_class: kind,
    computation_id: id,
    computation_key: key,
    computation_name: name,
    namespace: source,
  };
}
