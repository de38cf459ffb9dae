import {
  type Audiences,
  type Computation,
  type ComputationName,
  type ListOptions,
  LONGEST_NAME,
  type Member,
  type Members,
  type OpenSync,
  type SyncCounts,
  type Synced,
  type SyncKind,
  syncRunning,
  type Upload,
  type Wanted,
} from "../model/audience.ts";
import type { Source } from "../model/config.ts";
import type { Suppressed } from "../model/deletion.ts";
import { type Fault, fault, isFault } from "../model/fault.ts";
import type { Clock, Random } from "../model/ports.ts";
import type { Report } from "../model/report.ts";
import { type At, type Ms, SECOND } from "../model/units.ts";
import {
  type AllowedWorld,
  allowedPages,
  changedPages,
  comparedPages,
  count,
  NOBODY,
  noPages,
  type Pages,
  plus,
} from "./pages.ts";
import type { Worker } from "./worker.ts";

/** How long an answer waits for its sync to finish: most syncs finish at once. */
const PATIENCE: Ms = 5 * SECOND;

type AudiencesWorld = BeginWorld & {
  /** Why a source accepts no calls now; null if it does. */
  readonly refusalOf: (source: string) => Fault | null;
  readonly suppressed: Pick<Suppressed, "among">;
  readonly report: Pick<Report, "syncFailed" | "callRejected">;
};

/**
 * The operator's actions on audiences and traits. Each computation has one change at a time: a second one is refused while
 * the first is being read or sent. The changes are computed and written down first, then begun in one commit. From there the
 * worker completes them, even across restarts.
 */
export function createAudiences(world: AudiencesWorld): Audiences {
  const { members, refusalOf, report } = world;
  // The computations that are being read and compared. The store knows those that are being sent.
  const taken = new Set<string>();

  return {
    all: members.all,
    find: (wanted) => findSame(wanted, members),
    list: (wanted, rows, options) =>
      exclusively(
        wanted,
        async (name, known) =>
          refusalOf(name.source) ??
          (known ? null : refuseKey(name)) ??
          receiveList({ name, known, rows, options }, world),
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
    const place = placeOf(name);
    if (taken.has(place)) return syncRunning(name);
    taken.add(place);
    try {
      const known = await members.find(name);
      if (known && !isSame(known, name)) return nameTaken(name, known);
      if (known?.syncs.some(({ finishedAt }) => finishedAt === null)) return syncRunning(name);
      const begun = await work(name, known);
      if (!isFault(begun)) return await answerOf(name, begun, world);
      report.syncFailed(wanted, begun);
      return begun;
    } finally {
      taken.delete(place);
    }
  }
}

type Work = (name: ComputationName, known: Computation | null) => Promise<Begun | Fault>;

async function answerOf(
  name: ComputationName,
  { answer, finished }: Begun,
  { members, clock }: AudiencesWorld,
): Promise<Synced> {
  if (finished === null || answer.sync === null) return answer;
  const { number } = answer.sync;
  const patience = new AbortController();
  const late = clock.sleep(PATIENCE, patience.signal).then(() => null);
  const done = await Promise.race([finished, late]);
  patience.abort();
  if (done) return { ...answer, sync: done.sync };
  const known = await members.find(name);
  return { ...answer, sync: known?.syncs.find((sync) => sync.number === number) ?? answer.sync };
}

async function findSame(wanted: Wanted, members: Members): Promise<Computation | null> {
  const name = { ...wanted, key: snakeCase(wanted.name) };
  const known = await members.find(name);
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
    `the ${kind} ${JSON.stringify(name)} would be the trait ${key} for receivers, like ${other} of this source`,
  );
}

/** NFKC can turn one character into several. */
function refuseKey({ class: kind, key }: ComputationName): Fault | null {
  if (key.length <= LONGEST_NAME) return null;
  const what = `the name of the ${kind} would be the trait ${key.slice(0, 40)}… of ${key.length} characters`;
  return fault("invalid_request", `${what} for receivers, and may have ${LONGEST_NAME}: give it a shorter name`);
}

function unknown({ class: kind, name, source }: Wanted): Fault {
  const what = `source ${source} has no ${kind} ${JSON.stringify(name.slice(0, 100))}`;
  return fault(kind === "audience" ? "unknown_audience" : "unknown_trait", what);
}

type BeginWorld = {
  readonly members: Members;
  readonly worker: Pick<Worker, "begin" | "wake">;
  readonly clock: Clock;
  readonly random: Random;
  /** Whether the daemon is stopping. */
  readonly stopping: () => boolean;
};

/** `finished`: null if nothing is left to wait for. */
type Begun = { readonly answer: Synced; readonly finished: Promise<OpenSync> | null };

type SyncAsk = {
  readonly name: ComputationName;
  readonly known: Computation | null;
  readonly kind: SyncKind;
  readonly pages: Pages;
};

/** Writes the changes down, and begins the sync. */
async function beginSync({ name, known, kind, pages }: SyncAsk, world: BeginWorld): Promise<Begun | Fault> {
  const { members, worker, clock, random } = world;
  const id = `${name.class}-${hexTime(clock.wall())}${random.hex(4)}`;
  const number = await members.prepare({ id, kind });
  if (typeof number !== "number") return number;
  const counts = await note(number, pages, world);
  const ownId = `${ID_PREFIX[name.class]}_${random.hex(10)}`;
  const latest = known?.syncs[0]?.number ?? null;
  const open = isFault(counts) ? counts : await members.begin(number, { ...name, ...counts, id: ownId, latest });
  if (isFault(open)) {
    await members.abandon(number);
    worker.wake();
    return open;
  }
  const { answer } = unchanged(name, known, open.sync);
  return { answer: { ...answer, sync: open.sync }, finished: worker.begin(open) };
}

const ID_PREFIX = { audience: "aud", trait: "tra" } as const;

/** Makes ids sort by time. */
function hexTime(at: At): string {
  return at.toString(16).padStart(12, "0");
}

const STOPPING = fault("stopping", "the daemon is stopping; send the list again when it has started", SECOND);

async function note(sync: number, pages: Pages, { members, stopping }: BeginWorld): Promise<SyncCounts | Fault> {
  let sum = NOBODY;
  for await (const { changes, counts } of pages) {
    if (stopping()) return STOPPING;
    const refusal = changes.length > 0 ? await members.note(sync, changes) : null;
    if (refusal) return refusal;
    sum = plus(sum, counts);
  }
  return sum;
}

/** The result without a sync: nothing to change, or a dry run. */
function unchanged(
  { key }: ComputationName,
  known: Computation | null,
  { added, changed, removed }: SyncCounts,
): Begun {
  const size = (known?.size ?? 0) + added - removed;
  return { answer: { key, size, added, changed, removed, sync: null }, finished: null };
}

type ListAsk = {
  readonly name: ComputationName;
  readonly known: Computation | null;
  readonly rows: AsyncIterable<readonly Member[] | Fault>;
  readonly options: ListOptions;
};

/** Reads a whole list, computes its changes, and begins them. Nothing is stored before the list is complete. */
async function receiveList(
  { name, known, rows, options }: ListAsk,
  world: BeginWorld & AllowedWorld,
): Promise<Begun | Fault> {
  const upload = await staged(() => world.members.upload());
  if (isFault(upload)) return upload;
  try {
    const refusal = await stage(upload, rows, world);
    if (refusal) return refusal;
    const others = name.class === "audience" ? "remove" : "keep";
    const compared = { upload, known, others } as const;
    const { suppressed } = world;
    const counts = await count(allowedPages(comparedPages(compared, world), name, { suppressed }));
    const shrinking = known && !options.allowShrink ? refuseShrinking(known, counts) : null;
    if (shrinking) return shrinking;
    if (options.dryRun) return unchanged(name, known, counts);
    const pages = allowedPages(comparedPages(compared, world), name, world);
    return await beginSync({ name, known, kind: "list", pages }, world);
  } finally {
    await upload.close();
  }
}

async function stage(
  upload: Upload,
  rows: ListAsk["rows"],
  { stopping, clock }: Pick<BeginWorld, "stopping" | "clock">,
): Promise<Fault | null> {
  for await (const some of rows) {
    if (stopping()) return STOPPING;
    const refusal = isFault(some) ? some : await staged(() => upload.add(some));
    if (isFault(refusal)) return refusal;
    await clock.nextTurn();
  }
  return null;
}

/** Answers why the list cannot be kept, if that is so. */
async function staged<T>(work: () => Promise<T>): Promise<T | Fault> {
  try {
    return await work();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return fault(
      "store_failed",
      `the list cannot be kept in a temporary file: ${why}; check the folder that TMPDIR names`,
    );
  }
}

/** From this size on, losing more than half of the users counts as a mistake. */
const LARGE = 100;

/**
 * Refuses a list that would remove more than half of a large audience: that is usually an incomplete export. Null if it is
 * allowed.
 */
function refuseShrinking({ class: kind, name, size }: Computation, { removed }: SyncCounts): Fault | null {
  if (size < LARGE || removed * 2 <= size) return null;
  const share = `${removed} of the ${size} users`;
  return fault(
    "list_shrinks",
    `the list would remove ${share} of the ${kind} ${JSON.stringify(name)}, more than half: is it complete? ` +
      "To allow it, use ?allowShrink=1 or --allow-shrink",
  );
}

/** Why no calls are created for a source now; null if they are. */
export function refuseSource(name: string, sources: readonly Source[]): Fault | null {
  const source = sources.find((one) => one.name === name);
  if (!source) return fault("unknown_source", `the config has no source ${JSON.stringify(name.slice(0, 100))}`);
  return source.enabled ? null : fault("source_disabled", `source ${name} is disabled: enable it in the config`);
}

/**
 * The trait that receivers get for a name (SPEC.md 6): lowercase letters of any script with their marks, digits, and `_`
 * between words. A word ends at any other character, where a capital follows a small letter or a digit, and before the last
 * of several capitals that a small letter follows: `HTTPServer v2` is `http_server_v2`. Characters that only look different
 * (full width, ligatures) are normalised (NFKC). A name without letters or digits becomes the code points of its characters:
 * `★` is `u2605`. Never empty, and idempotent.
 */
export function snakeCase(name: string): string {
  const words = settle(name);
  return words === "" ? codePoints(name) : words;
}

/** Lowercasing can create letters that need another round: repeats until nothing changes. */
function settle(text: string): string {
  const next = pass(text);
  return next === text ? text : settle(next);
}

function pass(text: string): string {
  return (
    text
      .normalize("NFKC")
      .replace(/([\p{Ll}\p{N}]\p{M}*)(?=\p{Lu})/gu, "$1_")
      .replace(/(\p{Lu}\p{M}*)(?=\p{Lu}\p{M}*\p{Ll})/gu, "$1_")
      .toLowerCase()
      .normalize("NFKC")
      .replace(/[^\p{L}\p{N}\p{M}]+/gu, "_")
      // A mark without a letter before it is dropped.
      .replace(/(^|_)\p{M}+/gu, "$1")
      .replace(/_+/g, "_")
      .replace(/^_|_$/g, "")
  );
}

function codePoints(name: string): string {
  const codes = [...name].map((character) => `u${character.codePointAt(0)?.toString(16)}`);
  return codes.length === 0 ? "unnamed" : codes.join("_");
}
