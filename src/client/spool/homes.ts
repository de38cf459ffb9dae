import type { Machine } from "./machine.ts";

/**
 * A home is the folder of one client in the spool's directory: only its owner writes into it. It holds segments, and a
 * file `owner` that says whose it is, and by its time that the owner lives. The home of a process that has ended is taken
 * over by renaming the folder, which only one can do.
 *
 * Whether another process lives can only be guessed (it may be frozen, or in a container of its own), so the guess is
 * allowed to be wrong. An owner whose home was taken finds its path gone after it has synced. It writes the synced calls
 * again, into a new home. Both then send these calls, and the server recognises the repeats.
 */
export type Homes = {
  /** Makes a home for this client. */
  create(): string;
  /** The homes of others that have ended. */
  abandoned(): readonly string[];
  /** Takes one over, and answers where it is then. Null if another process was faster. */
  take(home: string): string | null;
  /** Says that the owner of these lives. */
  beat(homes: readonly string[]): void;
  /** Leaves a home to others, or removes it if it is empty. */
  leave(home: string): void;
};

type Owner = Partial<Pick<Machine, "pid" | "host" | "startedAt">>;

type Parts = { readonly machine: Machine; wall(): number; uuid(): string };

/** An owner without a sign of life for so long counts as dead, whatever its process does. */
const LEASE_MS = 60_000;
/** How often owners give a sign of life. */
export const BEAT_MS = 10_000;
/** How exactly the beginning of a process is known: clocks are set. */
const SAME_START_MS = 2_000;

const HOME = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export function createHomes(directory: string, { machine, wall, uuid }: Parts): Homes {
  const { fs, pid, host, startedAt } = machine;

  return {
    create() {
      const home = `${directory}/${uuid()}`;
      fs.mkdirSync(home, { recursive: true, mode: 0o700 });
      own(home);
      for (const folder of [directory, `${directory}/..`, `${directory}/../..`]) syncFolder(folder, fs);
      return home;
    },
    abandoned: () => others().filter(isAbandoned),
    take,
    beat,
    leave(home) {
      const isEmpty = attempt(() => fs.readdirSync(home).every((name) => name === "owner"));
      attempt(() => (isEmpty ? fs.rmSync(home, { recursive: true }) : fs.utimesSync(`${home}/owner`, 0, 0)));
    },
  };

  function own(home: string): void {
    // Where the disk is full, the time of the file has to do.
    attempt(() => fs.writeFileSync(`${home}/owner`, JSON.stringify({ pid, host, startedAt })));
    beat([home]);
  }

  function beat(homes: readonly string[]): void {
    for (const home of homes) attempt(() => fs.utimesSync(`${home}/owner`, wall() / 1_000, wall() / 1_000));
  }

  function others(): readonly string[] {
    const names = attempt(() => fs.readdirSync(directory)) ?? [];
    return names.filter((name) => HOME.test(name)).map((name) => `${directory}/${name}`);
  }

  function isAbandoned(home: string): boolean {
    // A home whose owner has not been written yet is as old as its folder.
    const seen = attempt(() => fs.statSync(`${home}/owner`)) ?? attempt(() => fs.statSync(home));
    if (!seen) return false;
    // One of the future was left before the clock was set back.
    if (Math.abs(wall() - seen.mtimeMs) > LEASE_MS) return true;
    const owner = attempt<Owner>(() => JSON.parse(fs.readFileSync(`${home}/owner`, "utf8")));
    if (typeof owner?.pid !== "number" || host === "" || owner.host !== host) return false;
    // In a container, the process that comes after has the same number.
    if (owner.pid === pid) return Math.abs((owner.startedAt ?? 0) - startedAt) > SAME_START_MS;
    return !machine.isAlive(owner.pid);
  }

  function take(home: string): string | null {
    const mine = `${directory}/${uuid()}`;
    const isMine = attempt(() => {
      fs.renameSync(home, mine);
      return true;
    });
    if (!isMine) return null;
    own(mine);
    return mine;
  }
}

/** A disk that is full may have room later. Until then it is as if the home were lost. */
export function createIfRoom(homes: Homes, directory: string): string {
  try {
    return homes.create();
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    if (code === "ENOSPC" || code === "EDQUOT") return `${directory}/missing`;
    throw error;
  }
}

/** Without this, a power cut would leave what is new in a folder without a name. Windows cannot. */
export function syncFolder(path: string, fs: Machine["fs"]): void {
  attempt(() => {
    const folder = fs.openSync(path, "r");
    attempt(() => fs.fsyncSync(folder));
    fs.closeSync(folder);
  });
}

/** Undefined if it fails: what belongs to others may be gone at any time. */
export function attempt<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}
