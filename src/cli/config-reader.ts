import { explainInSteps } from "../config/explain.ts";
import { gather } from "../config/include.ts";
import { loadWhole } from "../config/load.ts";
import type { Read, Seen } from "../config/reload.ts";
import { inTurns, type Steps } from "../config/steps.ts";
import { parseSteps } from "../config/syntax.ts";
import type { FileState, Look } from "../model/daemon.ts";
import type { Clock, FileText, FolderNames, Resolve } from "../model/ports.ts";
import { type At, formatDuration, HOUR, type Ms, SECOND } from "../model/units.ts";
import {
  createResolve,
  fileState,
  fileStateNow,
  findConfigFile,
  listFolderLater,
  readFileLater,
} from "../runtime/config-files.ts";

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
export type LaterFiles = {
  readonly look: Look;
  readonly read: (path: string) => Promise<FileText>;
  readonly list: (folder: string) => Promise<FolderNames>;
};

const REAL: LaterFiles = { look: fileState, read: readFileLater, list: listFolderLater };

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
    folder(path: string) {
      seen.set(asFolder(path), fileStateNow(asFolder(path)));
      return machine.folder(path);
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

/** Folders are watched under their paths with a slash at the end. */
function asFolder(path: string): string {
  return `${path}/`;
}

/** A config that could be read, and the texts that it was made of, by their paths and by the names of credentials. */
type Last = {
  readonly read: Read;
  readonly files: Texts;
  readonly folders: ReadonlyMap<string, FolderNames>;
  readonly credentials: Texts;
  readonly at: At;
};
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
  const main = files.texts.get(file);
  if (!main?.ok) return { unreadable: `cannot read the config file ${file}: ${main?.why}` };
  if (last && Math.abs(clock.wall() - last.at) < LONGEST_SAME && isSame(main, last.files.get(file))) {
    const late = await readMissing([...last.files.keys(), ...last.folders.keys()], world);
    if (late !== null) return late;
    if (isUnchanged(last, world)) return { last };
  }
  return interpret(file, main.text, world);
}

async function readMissing(paths: readonly string[], { files }: World): Promise<Unreadable | null> {
  const late = await files.read(paths.filter((path) => !files.has(path)));
  return late === null ? null : { unreadable: late, again: true };
}

function isUnchanged({ files, folders, credentials }: Last, world: World): boolean {
  return (
    [...folders].every(([path, names]) => isSameFolder(names, world.files.folders.get(path))) &&
    [...files].every(([path, text]) => isSame(text, world.files.texts.get(path))) &&
    [...credentials].every(([name, text]) => isSame(text, world.machine.credential(name)))
  );
}

function isSame(one: FileText, other: FileText | undefined): boolean {
  if (one.ok) return other?.ok === true && one.text === other.text && one.worldReadable === other.worldReadable;
  return other?.ok === false && one.why === other.why;
}

function isSameFolder(one: FolderNames, other: FolderNames | undefined): boolean {
  if (one.ok) return other?.ok === true && one.names.join("/") === other.names.join("/");
  return other?.ok === false && one.why === other.why;
}

/** Only the text tells which files a config needs: those that it includes, and then those that their values name. */
async function interpret(file: string, text: string, world: World): Promise<Unreadable | { readonly last: Last }> {
  const { files, clock } = world;
  const at = clock.wall();
  const credentials = new Map<string, FileText>();
  const document = await inTurns(parseSteps(text), clock.nextTurn);
  const whole = await untilRead((resolve) => gather(document, { file, resolve }), { world, credentials });
  if ("unreadable" in whole) return whole;
  const loaded = await untilRead((resolve) => loadWhole(whole, { file, resolve, now: at }), { world, credentials });
  if ("unreadable" in loaded) return loaded;
  const { config, problems } = loaded;
  const read = { config, problems, explain: () => explainInSteps(loaded, file) };
  return { last: { read, files: files.texts, folders: files.folders, credentials, at } };
}

type Reading = { readonly world: World; readonly credentials: Map<string, FileText> };

/** Does the steps again and again, until they need no file that was not read. */
async function untilRead<Result>(
  steps: (resolve: Resolve) => Steps<Result>,
  { world, credentials }: Reading,
): Promise<Result | Unreadable> {
  const { files, machine, clock } = world;
  for (;;) {
    const asked = new Set<string>();
    // Nobody sees this reason: the values are read again once the file is.
    const notYet = (path: string) => {
      asked.add(path);
      return { ok: false, why: "it was not read yet" } as const;
    };
    const resolve: Resolve = {
      env: machine.env,
      file: (path) => files.texts.get(path) ?? notYet(path),
      folder: (path) => files.folders.get(asFolder(path)) ?? notYet(asFolder(path)),
      credential(name) {
        const found = machine.credential(name);
        credentials.set(name, found);
        return found;
      },
    };
    const result = await inTurns(steps(resolve), clock.nextTurn);
    if (asked.size === 0) return result;
    const late = await readMissing([...asked], world);
    if (late !== null) return late;
  }
}

type Files = {
  readonly states: Map<string, FileState>;
  readonly texts: Texts;
  readonly folders: ReadonlyMap<string, FolderNames>;
  has(path: string): boolean;
  /** Resolves with null, or at the deadline with a message that names the missing files. */
  read(paths: readonly string[]): Promise<string | null>;
};

function createFiles(clock: Clock, later: LaterFiles): Files {
  const texts = new Map<string, FileText>();
  const folders = new Map<string, FolderNames>();
  const states = new Map<string, FileState>();
  let left = DEADLINE;

  return { states, texts, folders, has, read };

  function has(path: string): boolean {
    return texts.has(path) || folders.has(path);
  }

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
    if (path.endsWith("/")) folders.set(path, await later.list(path));
    else texts.set(path, await later.read(path));
  }

  function describe(paths: readonly string[]): string {
    const missing = paths.filter((path) => !has(path)).join(", ");
    return `reading ${missing} takes longer than ${formatDuration(DEADLINE)}; is its file system there?`;
  }
}
