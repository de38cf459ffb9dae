import { explainInSteps } from "../config/explain.ts";
import { loadDocument } from "../config/load.ts";
import type { Read, Seen } from "../config/reload.ts";
import { inTurns } from "../config/steps.ts";
import { parseSteps } from "../config/syntax.ts";
import type { FileState, Look } from "../model/daemon.ts";
import type { Clock, FileText, Resolve } from "../model/ports.ts";
import { type At, formatDuration, HOUR, type Ms, SECOND } from "../model/units.ts";
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
  let last: Last | null = null;
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
      const read = await readAll(file, { files, machine, clock, last });
      seen = files.states;
      last = "last" in read ? read.last : null;
      return "last" in read ? read.last.read : read;
    },
    seen: () => seen,
  };
}

/** A config that could be read, and the texts that it was made of, by their paths and by the names of credentials. */
type Last = { readonly read: Read; readonly files: Texts; readonly credentials: Texts; readonly at: At };
type Texts = ReadonlyMap<string, FileText>;
type Unreadable = Extract<Read, { readonly unreadable: string }>;

/** How long an unchanged config counts as read: its certificates expire. */
const LONGEST_SAME: Ms = HOUR;

type World = {
  readonly files: Files;
  readonly machine: Resolve;
  readonly clock: Clock;
  readonly last: Last | null;
};

async function readAll(file: string, world: World): Promise<Unreadable | { readonly last: Last }> {
  const { files, clock, last } = world;
  const missing = await readMissing([file], world);
  if (missing !== null) return missing;
  const main = files.get(file);
  if (!main?.ok) return { unreadable: `cannot read the config file ${file}: ${main?.why}` };
  if (last && Math.abs(clock.wall() - last.at) < LONGEST_SAME && isSame(main, last.files.get(file))) {
    const late = await readMissing([...last.files.keys()], world);
    if (late !== null) return late;
    if (isUnchanged(last, world)) return { last };
  }
  return interpret(file, main.text, world);
}

async function readMissing(paths: readonly string[], { files }: World): Promise<Unreadable | null> {
  const late = await files.read(paths.filter((path) => !files.get(path)));
  return late === null ? null : { unreadable: late, again: true };
}

function isUnchanged({ files, credentials }: Last, world: World): boolean {
  return (
    [...files].every(([path, text]) => isSame(text, world.files.get(path))) &&
    [...credentials].every(([name, text]) => isSame(text, world.machine.credential(name)))
  );
}

function isSame(one: FileText, other: FileText | undefined): boolean {
  if (one.ok) return other?.ok === true && one.text === other.text && one.worldReadable === other.worldReadable;
  return other?.ok === false && one.why === other.why;
}

/** Only the text tells which files a config needs: its values are read again until no file is missing. */
async function interpret(file: string, text: string, world: World): Promise<Unreadable | { readonly last: Last }> {
  const { files, machine, clock } = world;
  const at = clock.wall();
  const document = await inTurns(parseSteps(text), clock.nextTurn);
  for (;;) {
    const asked = new Set<string>();
    const credentials = new Map<string, FileText>();
    const resolve: Resolve = {
      env: machine.env,
      file(path) {
        const found = files.get(path);
        if (found === undefined) asked.add(path);
        // Nobody sees this reason: the values are read again once the file is.
        return found ?? { ok: false, why: "it was not read yet" };
      },
      credential(name) {
        const found = machine.credential(name);
        credentials.set(name, found);
        return found;
      },
    };
    const loaded = await inTurns(loadDocument(document, { file, resolve, now: at }), clock.nextTurn);
    if (asked.size === 0) {
      const { config, problems } = loaded;
      const read = { config, problems, explain: () => explainInSteps(loaded, file) };
      return { last: { read, files: files.texts, credentials, at } };
    }
    const late = await readMissing([...asked], world);
    if (late !== null) return late;
  }
}

type Files = {
  readonly states: Map<string, FileState>;
  readonly texts: Texts;
  get(path: string): FileText | undefined;
  /** Resolves with null, or at the deadline with a message that names the missing files. */
  read(paths: readonly string[]): Promise<string | null>;
};

function createFiles(clock: Clock, later: LaterFiles): Files {
  const texts = new Map<string, FileText>();
  const states = new Map<string, FileState>();
  let left = DEADLINE;

  return { states, texts, get: (path) => texts.get(path), read };

  async function read(paths: readonly string[]): Promise<string | null> {
    const [over, begun] = [new AbortController(), clock.now()];
    const all = Promise.all(paths.map(readOne)).then(() => null);
    const late = clock.sleep(left, over.signal).then(() => describe(paths));
    const result = await Promise.race([all, late]);
    over.abort();
    // What is done between two reads does not count: a large config takes long on a small machine.
    left -= clock.now() - begun;
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
