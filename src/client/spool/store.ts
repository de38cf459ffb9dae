import { SpoolError } from "../errors.ts";
import type { SpoolSettings } from "../options.ts";
import type { Cancel, ClientWorld } from "../platform.ts";
import type { WhenFull } from "../queue.ts";
import { attempt, BEAT_MS, createHomes, createIfRoom, type Homes, syncFolder } from "./homes.ts";
import { checksum, type Kept } from "./lines.ts";
import type { Machine } from "./machine.ts";
import {
  appendCall,
  beginSegment,
  closeSegment,
  foundSegment,
  hasWaiting,
  markCall,
  removeSegment,
  type Segment,
  syncSegment,
  takeCalls,
  writeSettled,
} from "./segment.ts";

/** Where a call is kept. It moves if another process has taken the home. */
export type Place = { segment: Segment; nth: number };

export type Stored = { readonly place: Place; readonly kept: Kept };

type Parts = {
  readonly spool: SpoolSettings;
  readonly whenFull: WhenFull;
  /** Names the source: calls go out with the write key that they were made with. */
  readonly source: string;
  readonly world: Pick<ClientWorld, "after" | "trail" | "uuid" | "wall">;
  readonly machine: Machine;
  tell(error: SpoolError): void;
  /** Calls were found that others have left. */
  found(): void;
  /** The oldest calls had to make room, and these are nowhere else. */
  dropped(calls: readonly Stored[]): void;
};

/** The segments of one client: those that it writes, and those that it has taken over. */
export type Store = {
  readonly parts: Parts;
  readonly homes: Homes;
  readonly segmentBytes: number;
  home: string;
  /** The homes that were taken over. */
  claimed: readonly string[];
  /** The oldest first. */
  segments: readonly Segment[];
  /** The one that calls are added to. */
  active: Segment | null;
  begun: number;
  /** Written, and not known to be on the disk. They are written again if the home is lost. */
  readonly unsynced: Set<Stored>;
  touched: Set<Segment>;
  syncing: Promise<void>;
  nextSync: Promise<void> | null;
  isFailing: boolean;
  cancelSync: Cancel | null;
  cancelBeat: Cancel;
  beatAt: number;
  /** The other processes may not have proved yet that they live. */
  isAwakeAgain: boolean;
};

const MOST_SEGMENT_BYTES = 1_048_576;
const SYNC_MS = 1_000;
const MOST_SYNCS = 2;
const SEGMENT = /^\d{15}-\d{6}\.log$/;

/** Throws if the directory is of no use. */
export function openStore(parts: Parts): Store {
  const { spool, source, world, machine } = parts;
  const { fs } = machine;
  // Calls may say things about people: what is made here is for this user alone.
  fs.mkdirSync(spool.directory, { recursive: true, mode: 0o700 });
  const directory = `${fs.realpathSync(spool.directory)}/${checksum(new TextEncoder().encode(source))}`;
  const homes = createHomes(directory, { machine, wall: world.wall, uuid: world.uuid });
  const store: Store = {
    parts,
    homes,
    segmentBytes: Math.min(MOST_SEGMENT_BYTES, Math.floor(spool.maxBytes / 8)),
    home: createIfRoom(homes, directory),
    claimed: [],
    segments: [],
    active: null,
    begun: 0,
    unsynced: new Set(),
    touched: new Set(),
    syncing: Promise.resolve(),
    nextSync: null,
    isFailing: false,
    cancelSync: null,
    cancelBeat: () => {},
    beatAt: world.wall(),
    isAwakeAgain: false,
  };
  claim(store);
  beatLater(store);
  return store;
}

/** Keeps a call, which counts as held. Null if there is no room for it, by `maxBytes` or on the disk. */
export function keep(store: Store, kept: Kept): Place | null {
  const { spool, world } = store.parts;
  // Others may have taken the home of a process that was frozen, and read it.
  if (hasSlept(store)) proveAlive(store);
  const place = tryKeep(store, kept);
  if (!place) return null;
  store.unsynced.add({ place, kept });
  if (spool.fsync === "interval") store.cancelSync ??= world.after(SYNC_MS, () => syncSoon(store));
  return place;
}

function tryKeep(store: Store, kept: Kept): Place | null {
  const { spool, machine } = store.parts;
  // Lengths are those of ASCII; where a call has other letters, the spool is a little larger by it.
  while (bytesOf(store.segments) + kept.text.length > spool.maxBytes) {
    if (makeRoom(store)) continue;
    return refuse(store, new SpoolError("spool_full", `the spool is full (${spool.maxBytes} bytes)`));
  }
  try {
    return write(store, kept);
  } catch {
    // Its home may be gone, or the disk full: the second attempt is in another home, or after making room.
    if (machine.fs.existsSync(store.home)) makeRoom(store);
    else moveOut(store);
  }
  try {
    return write(store, kept);
  } catch (cause) {
    return refuse(store, new SpoolError("spool_failed", "the spool cannot be written", { cause }));
  }
}

function write(store: Store, kept: Kept): Place {
  if (store.active && store.active.bytes >= store.segmentBytes) retire(store, store.active);
  store.active ??= begin(store);
  return { segment: store.active, nth: appendCall(store.active, kept) };
}

function begin(store: Store): Segment {
  const { world, machine } = store.parts;
  store.begun += 1;
  const name = `${String(world.wall()).padStart(15, "0")}-${String(store.begun).padStart(6, "0")}.log`;
  const segment = beginSegment(`${store.home}/${name}`, machine.fs);
  store.segments = [...store.segments, segment];
  syncFolder(store.home, machine.fs);
  return segment;
}

/** The segment is long enough. */
function retire(store: Store, segment: Segment): void {
  store.active = null;
  segment.isDone = true;
  void nextSync(store).then(() => {
    closeSegment(segment);
    sweep(store);
  });
}

/** Told once, until it works again. */
function refuse(store: Store, error: SpoolError): null {
  const isKnown = store.isFailing;
  store.isFailing = true;
  if (!isKnown) store.parts.tell(error);
  return null;
}

function bytesOf(segments: readonly Segment[]): number {
  let sum = 0;
  for (const { bytes } of segments) sum += bytes;
  return sum;
}

/**
 * Drops the oldest segment, if that is the policy; one that is being sent from only if there is no other. Calls that are in
 * memory as well stay there.
 */
function makeRoom(store: Store): boolean {
  const others = store.segments.filter((segment) => segment !== store.active);
  const oldest = others.find(({ counts }) => counts.held === 0) ?? others[0];
  if (store.parts.whenFull !== "dropOldest" || !oldest) return false;
  // A call made in onError drops no others: onError would be called for these, and so on.
  if (store.parts.world.trail.isIn("onError")) return false;
  const calls = takeFrom(store, oldest);
  removeSegment(oldest);
  sweep(store);
  for (const one of store.unsynced) if (one.place.segment === oldest) store.unsynced.delete(one);
  if (calls.length > 0) store.parts.dropped(calls);
  return true;
}

function sweep(store: Store): void {
  store.segments = store.segments.filter(({ isRemoved }) => !isRemoved);
}

/** The calls that wait in the oldest segment that has any. They are held from now on. */
export function takeOldest(store: Store): readonly Stored[] {
  for (const segment of store.segments) {
    const calls = hasWaiting(segment) ? takeFrom(store, segment) : [];
    if (calls.length > 0) return calls;
  }
  sweep(store);
  return [];
}

function takeFrom({ parts }: Store, segment: Segment): readonly Stored[] {
  const { calls, damaged } = takeCalls(segment);
  if (damaged > 0) {
    const what =
      damaged === 1 ? ["a line", "does", "its checksum", "is"] : [`${damaged} lines`, "do", "their checksums", "are"];
    const [lines, does, checksums, are] = what;
    const message = `${lines} of ${segment.path} ${does} not match ${checksums}, and ${are} skipped`;
    parts.tell(new SpoolError("spool_damaged", message));
  }
  return calls.map(({ nth, kept }) => ({ place: { segment, nth }, kept }));
}

/** A call that was held waits on the disk, or is settled. False if it is no longer on the disk. */
export function release(store: Store, { segment, nth }: Place, state: "waits" | "settled"): boolean {
  if (segment.isRemoved) return false;
  markCall(segment, nth, state);
  if (state === "settled") {
    // Calls are settled by the batch, and written down together.
    if (store.touched.size === 0) void Promise.resolve().then(() => writeAllSettled(store));
    store.touched.add(segment);
  }
  return true;
}

function writeAllSettled(store: Store): void {
  for (const segment of store.touched) writeSettled(segment);
  store.touched = new Set();
  sweep(store);
}

function syncSoon(store: Store): void {
  store.cancelSync = null;
  store.parts.world.trail.leave(() => void nextSync(store));
}

/**
 * Resolves when all calls so far are on the disk. Never rejects. Syncs run one at a time: who asks while one is under way
 * waits for the next one, since the first may have passed by what they wrote.
 */
export function nextSync(store: Store): Promise<void> {
  store.nextSync ??= store.syncing.then(() => {
    store.nextSync = null;
    store.syncing = sync(store);
    return store.syncing;
  });
  return store.nextSync;
}

async function sync(store: Store, attempts = 1): Promise<void> {
  const { home } = store;
  const batch = [...store.unsynced];
  const written = new Set(batch.map(({ place }) => place.segment));
  try {
    await Promise.all([...written].map(syncSegment));
    if (batch.length > 0) store.isFailing = false;
  } catch (cause) {
    // The content of these files is unknown now. Their calls go into another file, as do later ones.
    const { active } = store;
    store.active = null;
    if (active) closeSegment(active);
    if (attempts < MOST_SYNCS) {
      const before = writeAgain(store);
      await sync(store, attempts + 1);
      for (const place of before) release(store, place, "settled");
      return;
    }
    refuse(store, new SpoolError("spool_failed", "the spool cannot be synced", { cause }));
  }
  if (batch.length > 0) moveOutIfGone(store);
  if (store.home !== home) return sync(store);
  for (const one of batch) store.unsynced.delete(one);
}

function moveOutIfGone(store: Store): void {
  if (!store.parts.machine.fs.existsSync(store.home)) moveOut(store);
}

/**
 * The home was taken, or removed. Its calls are another's now, or are in memory only. Another process may have read the
 * home before the last of them were in it: they are written again.
 */
function moveOut(store: Store): void {
  for (const segment of store.segments) if (segment.path.startsWith(`${store.home}/`)) removeSegment(segment);
  sweep(store);
  store.active = null;
  try {
    store.home = store.homes.create();
  } catch (cause) {
    refuse(store, new SpoolError("spool_failed", "the spool cannot be written", { cause }));
  }
  writeAgain(store);
}

/** Answers where the calls were before. */
function writeAgain(store: Store): readonly Place[] {
  const calls = [...store.unsynced];
  store.unsynced.clear();
  return calls.flatMap((call) => {
    const { place, kept } = call;
    const before = { ...place };
    const state = place.segment.states[place.nth];
    const moved = state === "settled" ? null : tryKeep(store, kept);
    if (!moved) return [];
    if (state) markCall(moved.segment, moved.nth, state);
    Object.assign(place, moved);
    store.unsynced.add(call);
    return [before];
  });
}

/**
 * Takes over what others have left. Answers whether there was any. Many may have left more than one spool holds: what does
 * not fit is for another process, or for later.
 */
function claim(store: Store): boolean {
  const { spool, machine } = store.parts;
  const before = store.segments.length;
  for (const left of store.homes.abandoned()) {
    const bytes = bytesOf(store.segments) + bytesOf(segmentsIn(left, machine));
    const isEmpty = store.segments.every((segment) => segment === store.active);
    if (!isEmpty && bytes > spool.maxBytes) continue;
    const home = store.homes.take(left);
    if (home === null) continue;
    store.claimed = [...store.claimed, home];
    store.segments = [...store.segments, ...segmentsIn(home, machine)].sort(byName);
  }
  return store.segments.length > before;
}

function segmentsIn(home: string, { fs }: Machine): readonly Segment[] {
  return (attempt(() => fs.readdirSync(home)) ?? [])
    .filter((name) => SEGMENT.test(name))
    .flatMap((name) => attempt(() => foundSegment(`${home}/${name}`, fs)) ?? []);
}

/** Segments are named by the time when they were begun. */
function byName(a: Segment, b: Segment): number {
  return nameOf(a) < nameOf(b) ? -1 : 1;
}

function nameOf({ path }: Segment): string {
  return path.slice(path.lastIndexOf("/"));
}

function beatLater(store: Store): void {
  const { world } = store.parts;
  store.cancelBeat = world.after(BEAT_MS, () => world.trail.leave(() => beat(store)));
}

/** Tells others that this client lives, and looks for what they have left. */
function beat(store: Store): void {
  beatLater(store);
  const isEmpty = (home: string): boolean => !store.segments.some(({ path }) => path.startsWith(`${home}/`));
  for (const home of store.claimed.filter(isEmpty)) store.homes.leave(home);
  store.claimed = store.claimed.filter((home) => !isEmpty(home));
  proveAlive(store);
  const { isAwakeAgain } = store;
  store.isAwakeAgain = false;
  if (!isAwakeAgain && claim(store)) store.parts.found();
}

/** The machine or this process did, or the clock was set. */
function hasSlept({ parts, beatAt }: Store): boolean {
  return Math.abs(parts.world.wall() - beatAt) > 2 * BEAT_MS;
}

function proveAlive(store: Store): void {
  store.isAwakeAgain ||= hasSlept(store);
  store.beatAt = store.parts.world.wall();
  store.homes.beat([store.home, ...store.claimed]);
  moveOutIfGone(store);
}

/** Leaves the calls to the next client. */
export function closeStore(store: Store): void {
  store.cancelBeat();
  store.cancelSync?.();
  writeAllSettled(store);
  for (const segment of store.segments) closeSegment(segment);
  for (const home of [store.home, ...store.claimed]) store.homes.leave(home);
}
