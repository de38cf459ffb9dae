import { loadConfig } from "../config/load.ts";
import type { Read, Seen } from "../config/reload.ts";
import type { FileState, Look } from "../model/daemon.ts";
import type { Clock, FileText, Resolve } from "../model/ports.ts";
import { formatDuration, type Ms, SECOND } from "../model/units.ts";
import { createResolve, fileState, fileStateNow, findConfigFile, readFileLater } from "../runtime/config-files.ts";

/** For all files of a config together. A file server that does not respond would block a reload forever. */
const DEADLINE: Ms = 5 * SECOND;

/** Reads the config at the start and at each reload, and remembers the state of each file that was read. */
export type Reader = {
  /** For the first read, at the start, which may block. */
  readonly resolve: Resolve;
  /** Reads the same file again, without blocking the daemon. */
  read(file: string, clock: Clock): Promise<Read>;
  seen(): Seen;
};

/** How files are read without blocking. */
export type LaterFiles = { readonly look: Look; readonly read: (path: string) => Promise<FileText> };

const REAL: LaterFiles = { look: fileState, read: readFileLater };

/** `named`: the config file that the operator named, if any. */
export function createReader(named: string | undefined, later: LaterFiles = REAL): Reader {
  let seen = new Map<string, FileState>();
  const machine = createResolve();
  const resolve = {
    ...machine,
    file(path: string) {
      // The state before reading, so that a change in between is noticed.
      seen.set(path, fileStateNow(path));
      return machine.file(path);
    },
  };
  const first = findConfigFile(named);
  if (first !== null) seen.set(first, fileStateNow(first));

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

/** Only the text tells which files a config needs: it is parsed again until no file is missing. */
async function readAll(file: string, { files, machine, clock }: World): Promise<Read> {
  let missing: readonly string[] = [file];
  for (;;) {
    const late = await files.read(missing);
    if (late !== null) return { unreadable: late, again: true };
    const main = files.get(file);
    if (!main?.ok) return { unreadable: `cannot read the config file ${file}: ${main?.why}` };
    const asked = new Set<string>();
    const readOrAsk = (path: string): FileText => {
      const found = files.get(path);
      if (found === undefined) asked.add(path);
      // Nobody sees this reason: the text is parsed again once the file is read.
      return found ?? { ok: false, why: "it was not read yet" };
    };
    const resolve = { ...machine, file: readOrAsk };
    const { config, problems } = loadConfig({ file, text: main.text, resolve, now: clock.wall() });
    if (asked.size === 0) return { config, problems };
    missing = [...asked];
  }
}

type Files = {
  readonly states: Map<string, FileState>;
  get(path: string): FileText | undefined;
  /** Resolves with null, or at the deadline with a message that names the missing files. */
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
    // The state before reading, so that a change in between is noticed.
    states.set(path, await later.look(path));
    texts.set(path, await later.read(path));
  }

  function describe(paths: readonly string[]): string {
    const missing = paths.filter((path) => !texts.has(path)).join(", ");
    return `reading ${missing} takes longer than ${formatDuration(DEADLINE)}; is its file system there?`;
  }
}
