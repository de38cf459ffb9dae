import {
  type Audiences,
  type Computation,
  type ComputationName,
  LONGEST_NAME,
  type Members,
  type OpenSync,
  type Synced,
  type Wanted,
} from "../model/audience.ts";
import type { Suppressed } from "../model/deletion.ts";
import { type Fault, fault, isFault } from "../model/fault.ts";
import type { Report } from "../model/report.ts";
import { type Ms, SECOND } from "../model/units.ts";
import { type BeginWorld, type Begun, beginSync } from "./begin.ts";
import { allowedPages, changedPages, comparedPages, noPages } from "./pages.ts";
import { snakeCase } from "./snake-case.ts";
import { takeList } from "./take-list.ts";

/** How long an answer waits for its sync to be finished: most are, at once. */
const PATIENCE: Ms = 5 * SECOND;

export type AudiencesWorld = BeginWorld & {
  /** Why a source takes no calls now; null if it does. */
  readonly refusalOf: (source: string) => Fault | null;
  readonly suppressed: Pick<Suppressed, "any" | "has">;
  readonly report: Pick<Report, "syncFailed" | "callRejected">;
};

/**
 * What an operator does with audiences and traits. One change of each at a time: whoever comes while another is read or
 * sent is refused. What is to be changed is found out first and written down, then it is begun in one commit, and from there
 * on the worker carries it out, however often the daemon ends.
 */
export function createAudiences(world: AudiencesWorld): Audiences {
  const { members, refusalOf, report } = world;
  // What is being read and compared; what is being sent, the store knows.
  const taken = new Set<string>();

  return {
    all: members.all,
    find: (wanted) => findSame(wanted, members),
    list: (wanted, rows, options) =>
      exclusively(
        wanted,
        async (name, known) =>
          refusalOf(name.source) ?? (known ? null : refuseKey(name)) ?? takeList({ name, known, rows, options }, world),
      ),
    change: (wanted, changes) =>
      exclusively(wanted, async (name, known) => {
        if (!known) return unknown(name);
        const refusal = refusalOf(name.source);
        if (refusal) return refusal;
        const pages = allowedPages(changedPages(changes, known, members), name, world);
        return beginSync({ name, known, kind: "members", pages }, world);
      }),
    remove: (wanted, { silent }) =>
      exclusively(wanted, async (name, known) => {
        if (!known) return unknown(name);
        if (silent) return beginSync({ name, known, kind: "silent_removal", pages: noPages(known) }, world);
        const pages = comparedPages({ upload: null, known, others: "remove" }, world);
        return refusalOf(name.source) ?? beginSync({ name, known, kind: "removal", pages }, world);
      }),
  };

  async function exclusively(wanted: Wanted, work: Work): Promise<Synced | Fault> {
    const name: ComputationName = { ...wanted, key: snakeCase(wanted.name) };
    const known = members.find(name);
    if (known && !isSame(known, name)) return nameTaken(name, known);
    const place = placeOf(name);
    if (taken.has(place) || openOf(place, members)) return busy(name);
    taken.add(place);
    try {
      const begun = await work(name, known);
      if (!isFault(begun)) return await answerOf(begun, world);
      report.syncFailed(wanted, begun);
      return begun;
    } finally {
      taken.delete(place);
    }
  }
}

type Work = (name: ComputationName, known: Computation | null) => Promise<Begun | Fault>;

/** The sync of this place that is being sent. */
function openOf(place: string, members: Members): OpenSync | undefined {
  return members.open().find(({ computation }) => placeOf(computation) === place);
}

async function answerOf({ answer, finished }: Begun, { members, clock }: AudiencesWorld): Promise<Synced> {
  if (finished === null || answer.sync === null) return answer;
  const { number } = answer.sync;
  const patience = new AbortController();
  const late = clock.sleep(PATIENCE, patience.signal).then(() => null);
  const done = await Promise.race([finished, late]);
  patience.abort();
  const now = done ?? members.open().find(({ sync }) => sync.number === number);
  return { ...answer, sync: now?.sync ?? answer.sync };
}

function findSame(wanted: Wanted, members: Members): Computation | null {
  const name = { ...wanted, key: snakeCase(wanted.name) };
  const known = members.find(name);
  return known && isSame(known, name) ? known : null;
}

function isSame(known: ComputationName, { class: kind, name }: ComputationName): boolean {
  return known.class === kind && known.name === name;
}

function placeOf({ source, key }: ComputationName): string {
  return JSON.stringify([source, key]);
}

function nameTaken({ class: kind, name, key }: ComputationName, known: Computation): Fault {
  const other = `the ${known.class} ${JSON.stringify(known.name)}`;
  return fault(
    "name_taken",
    `the ${kind} ${JSON.stringify(name)} would be the trait ${key} for receivers, and so is ${other} of this source`,
  );
}

/** Signs may become several characters each. */
function refuseKey({ class: kind, key }: ComputationName): Fault | null {
  if (key.length <= LONGEST_NAME) return null;
  const what = `the name of the ${kind} would be the trait ${key.slice(0, 40)}… of ${key.length} characters`;
  return fault("invalid_request", `${what} for receivers, and may have ${LONGEST_NAME}: give it a shorter name`);
}

/** There is none of this name. */
export function unknown({ class: kind, name, source }: Wanted): Fault {
  const what = `source ${source} has no ${kind} ${JSON.stringify(name.slice(0, 100))}`;
  return fault(kind === "audience" ? "unknown_audience" : "unknown_trait", what);
}

function busy({ class: kind, name }: ComputationName): Fault {
  const what = `another sync of the ${kind} ${JSON.stringify(name)} is running`;
  return fault("sync_running", `${what}; try again when it is finished`, SECOND);
}
