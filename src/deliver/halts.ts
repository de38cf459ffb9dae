/**
 * Which destinations nothing is delivered to because the operator wants it so, and since when. There are two reasons, and
 * both can hold at once:
 *
 * paused:    by command, until it is resumed by command; a restart or another config does not change that.
 * unserved:  disabled, or not in the config. It begins with the reload or start that finds it so while something waits,
 *            and ends with the one that finds it served again.
 *
 * When either ends, a spell is remembered, as long as anything waits that may have been tried before it.
 */
import type { Destination } from "../model/destination.ts";
import type { Fault } from "../model/fault.ts";
import type { Halt, Paused, Pauses, Resumed, Spell, StoredHalts } from "../model/pause.ts";
import type { Clock, DeliveryCount } from "../model/ports.ts";
import { type At, type Ms, SECOND } from "../model/units.ts";
import { addSpell } from "./spells.ts";

/** Until what the store did not take is tried again. */
const RETRY: Ms = 10 * SECOND;

export type Halts = Pauses & {
  /** These are in the config from now on; `counts` says for whom something waits. */
  serve(destinations: readonly Destination[], counts: readonly DeliveryCount[]): void;
  /** Whether nothing is to be delivered to it now. */
  isHalted(destination: string): boolean;
  /** When nothing was to be delivered to it, up to now. They may overlap. */
  spells(destination: string, now: At): readonly Spell[];
};

export type HaltsWorld = {
  readonly clock: Pick<Clock, "now" | "sleep">;
  /** As they are in the store. */
  readonly halts: StoredHalts;
  readonly stopping: AbortSignal;
  /** Called when a destination was paused or resumed. */
  readonly changed: () => void;
};

export function createHalts(world: HaltsWorld): Halts {
  const { clock, changed } = world;
  const ledger = createLedger(world);
  return {
    since: (destination) => ledger.of(destination).pausedAt,
    pause: (destination) => ledger.inTurn(() => pause(destination)),
    resume: (destination) => ledger.inTurn(() => resume(destination)),
    serve: (destinations, counts) => ledger.set(changesOf(destinations, counts)),
    isHalted(destination) {
      const { pausedAt, unservedAt } = ledger.of(destination);
      return pausedAt !== null || unservedAt !== null;
    },
    spells(destination, now) {
      const { pausedAt, unservedAt, spells } = ledger.of(destination);
      const lasting = [pausedAt, unservedAt].flatMap((from) => (from === null ? [] : [{ from, until: now }]));
      return lasting.length === 0 ? spells : [...spells, ...lasting];
    },
  };

  async function pause(destination: string): Promise<Paused | Fault> {
    const { pausedAt } = ledger.of(destination);
    if (pausedAt !== null) return { since: pausedAt, changed: false };
    const since = clock.now();
    const refused = await ledger.change(destination, (halt) => ({ ...halt, pausedAt: since }));
    if (refused !== null) return refused;
    changed();
    return { since, changed: true };
  }

  async function resume(destination: string): Promise<Resumed | Fault> {
    const { pausedAt: since } = ledger.of(destination);
    if (since === null) return { since };
    const spell = { from: since, until: clock.now() };
    const refused = await ledger.change(destination, (halt) => resumed(halt, spell));
    if (refused !== null) return refused;
    changed();
    return { since };
  }

  function changesOf(destinations: readonly Destination[], counts: readonly DeliveryCount[]): readonly Halt[] {
    const enabled = new Set(destinations.filter((one) => one.enabled).map(({ name }) => name));
    const backlogs = counts.filter(({ state, count }) => state === "waiting" && count > 0);
    const waiting = new Set(backlogs.map(({ destination }) => destination));
    const now = clock.now();
    return [...new Set([...ledger.names(), ...waiting])].flatMap((name) => {
      const [before, after] = [ledger.of(name), served(ledger.of(name), { enabled, waiting, now })];
      return isSame(before, after) ? [] : [after];
    });
  }
}

type Ledger = {
  of(destination: string): Halt;
  names(): Iterable<string>;
  /** Works that write: one after the other, in the order in which they were asked for. */
  inTurn<T>(work: () => Promise<T>): Promise<T>;
  /** In its turn: changes what is known once that is durable, or answers why it is not. */
  change(destination: string, to: (halt: Halt) => Halt): Promise<Fault | null>;
  /** These count at once, and are written as soon as the store can. */
  set(halts: readonly Halt[]): void;
};

/** What is known, and its way into the store. */
function createLedger({ clock, halts: stored, stopping }: HaltsWorld): Ledger {
  const known = new Map(stored.all().map((halt) => [halt.destination, halt]));
  let turn: Promise<unknown> = Promise.resolve();
  return {
    ...{ of, inTurn, names: () => known.keys() },
    async change(destination, to) {
      const refused = await stored.save([to(of(destination))]);
      // The config may have changed meanwhile.
      if (refused === null) known.set(destination, to(of(destination)));
      return refused;
    },
    set(halts) {
      for (const halt of halts) known.set(halt.destination, halt);
      // The store logs what is wrong with it.
      if (halts.length > 0) void keep(halts.map(({ destination }) => destination));
    },
  };

  function of(destination: string): Halt {
    return known.get(destination) ?? { destination, ...NOTHING };
  }

  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = turn.then(work);
    turn = result.catch(() => {});
    return result;
  }

  async function keep(destinations: readonly string[]): Promise<void> {
    while (!stopping.aborted) {
      const refused = await inTurn(() => stored.save(destinations.map(of)));
      if (refused === null) return;
      await clock.sleep(RETRY, stopping);
    }
  }
}

const NOTHING = { pausedAt: null, unservedAt: null, spells: [] } as const;

function resumed(halt: Halt, spell: Spell): Halt {
  return { ...halt, pausedAt: null, spells: addSpell(halt.spells, spell) };
}

type Config = {
  readonly enabled: ReadonlySet<string>;
  readonly waiting: ReadonlySet<string>;
  readonly now: At;
};

function served(halt: Halt, { enabled, waiting, now }: Config): Halt {
  const { destination, unservedAt } = halt;
  // Nothing is left that was tried before.
  if (!waiting.has(destination)) return { ...halt, unservedAt: null, spells: [] };
  if (!enabled.has(destination)) return { ...halt, unservedAt: unservedAt ?? now };
  if (unservedAt === null) return halt;
  return { ...halt, unservedAt: null, spells: addSpell(halt.spells, { from: unservedAt, until: now }) };
}

function isSame(a: Halt, b: Halt): boolean {
  const isSpelled = a.spells === b.spells || (a.spells.length === 0 && b.spells.length === 0);
  return isSpelled && a.pausedAt === b.pausedAt && a.unservedAt === b.unservedAt;
}
