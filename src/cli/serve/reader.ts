import { loadConfig } from "../../config/load.ts";
import type { Read, Seen } from "../../config/reload.ts";
import type { Clock, FileText, Resolve } from "../../model/ports.ts";
import type { FileState, Look } from "../../model/reload.ts";
import { formatDuration, type Ms, SECOND } from "../../model/units.ts";
import { createResolve, findConfigFile, look, lookNow, readFileLater } from "../../runtime/config-files.ts";

/** How long all files of a config may take. A file server that is gone would hold a reload up for ever. */
const DEADLINE: Ms = 5 * SECOND;

/** Reads the config again and again, and knows as what each file of it was read last. */
export type Reader = {
  /** For the first time that it is read, before there is anybody who could be held up. */
  readonly resolve: Resolve;
  /** Reads the same file again, wherever it was found. */
  read(file: string, clock: Clock): Promise<Read>;
  seen(): Seen;
};

/** How files are read while the daemon runs. */
export type LaterFiles = { readonly look: Look; readonly read: (path: string) => Promise<FileText> };

const REAL: LaterFiles = { look, read: readFileLater };

/** `said`: the config file that the operator has named, if any. */
export function createReader(said: string | undefined, later: LaterFiles = REAL): Reader {
  let seen = new Map<string, FileState>();
  const machine = createResolve();
  const resolve = {
    ...machine,
    file(path: string) {
      // Before it is read: what changes in between is seen as a change.
      seen.set(path, lookNow(path));
      return machine.file(path);
    },
  };
  const first = findConfigFile(said);
  if (first !== null) seen.set(first, lookNow(first));

  return {
    resolve,
    async read(file, clock) {
      const files = createFiles(clock, later);
      const read = await readAll(file, { files, machine, clock });
      seen = files.states;
      return read;
    },
    seen: () => seen,
  };
}

type World = { readonly files: Files; readonly machine: Resolve; readonly clock: Clock };

/** Which files a config needs is only known from its text: it is looked through again until nothing is missing. */
async function readAll(file: string, { files, machine, clock }: World): Promise<Read> {
  let missing: readonly string[] = [file];
  for (;;) {
    const late = await files.read(missing);
    if (late !== null) return { unreadable: late, again: true };
    const main = files.get(file);
    if (!main?.ok) return { unreadable: `cannot read the config file ${file}: ${main?.why}` };
    const asked = new Set<string>();
    const resolve = { ...machine, file: (path: string) => files.get(path) ?? unread(asked.add(path)) };
    const { config, problems } = loadConfig({ file, text: main.text, resolve, now: clock.wall() });
    if (asked.size === 0) return { config, problems };
    missing = [...asked];
  }
}

/** What it is instead does not matter: it is read before anybody hears of this. */
function unread(_: Set<string>): FileText {
  return { ok: false, why: "it was not read yet" };
}

type Files = {
  readonly states: Map<string, FileState>;
  get(path: string): FileText | undefined;
  /** Answers null, or after the deadline which of them are not here yet. */
  read(paths: readonly string[]): Promise<string | null>;
};

function createFiles(clock: Clock, later: LaterFiles): Files {
  const texts = new Map<string, FileText>();
  const states = new Map<string, FileState>();
  const deadline = clock.now() + DEADLINE;

  return { states, get: (path) => texts.get(path), read };

  async function read(paths: readonly string[]): Promise<string | null> {
    const over = new AbortController();
    const all = Promise.all(paths.map(readOne)).then(() => null);
    const late = clock.sleep(deadline - clock.now(), over.signal).then(() => describe(paths));
    const result = await Promise.race([all, late]);
    over.abort();
    return result;
  }

  async function readOne(path: string): Promise<void> {
    // Before it is read: what changes in between is seen as a change.
    states.set(path, await later.look(path));
    texts.set(path, await later.read(path));
  }

  function describe(paths: readonly string[]): string {
    const missing = paths.filter((path) => !texts.has(path)).join(", ");
    return `reading ${missing} takes longer than ${formatDuration(DEADLINE)}; is its file system there?`;
  }
}
