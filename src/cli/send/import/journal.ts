import { readFileLater } from "../../../runtime/config-files.ts";
import type { ByteSource } from "../../../runtime/input.ts";
import { removeFile, replaceFile, writeFileAt } from "../../../runtime/new-file.ts";
import type { RefusedLine } from "./call.ts";
import { fingerprintOf, NOTHING, parseState, type State, type Stored, writeState } from "./state.ts";

/** What an import writes down, so that it can go on after an interruption. Its functions reject in words. */
export type Journal = {
  /** Where to begin: at the start, or where an earlier run was interrupted. */
  readonly begun: State;
  /** Where refused lines are listed; null if they are only told. */
  readonly refusedFile: string | null;
  keep(state: State, refused: readonly RefusedLine[]): Promise<void>;
  /** All is done: there is nothing to go on with. */
  finish(): Promise<void>;
};

export type JournalOf = {
  /** Null for standard input and pipes: they cannot be read again. */
  readonly path: string | null;
  readonly source: ByteSource;
  readonly base: string;
  readonly target: string;
};

/** Opens the journal of an import. Answers as text why it cannot go on where an earlier run was interrupted. */
export async function openJournal({ path, source, base, target }: JournalOf): Promise<Journal | string> {
  if (path === null) return FORGETFUL;
  const stateFile = `${path}.fairlead-progress`;
  const refusedFile = `${path}.refused`;
  const before = await readBefore(stateFile);
  if (typeof before === "string") return before;
  const anew = `remove ${stateFile} to begin anew`;
  if (before !== null && before.target !== target) {
    return `an import of ${path} to ${before.base} was interrupted, and this is another address or write key: go on there, or ${anew}`;
  }
  if (before !== null && before.fingerprint !== (await fingerprintOf(source.part, before.offset))) {
    return `${path} is not what it was when its import was interrupted after line ${before.line}: ${anew}`;
  }
  const journal = createJournal(before, { stateFile, refusedFile, write: { source, base, target } });
  // Whether it can be written is to be known before anything is sent.
  if (before === null) await journal.keep(NOTHING, []);
  return journal;
}

type Files = {
  readonly stateFile: string;
  readonly refusedFile: string;
  readonly write: Omit<JournalOf, "path">;
};

function createJournal(before: Stored | null, { stateFile, refusedFile, write }: Files): Journal {
  const { source, base, target } = write;
  let refusedBytes = before?.refusedBytes ?? 0;
  let hasOldList = before === null;
  return {
    begun: before ?? NOTHING,
    refusedFile,
    async keep({ offset, line, accepted, duplicate, refused: count }, refused) {
      const list = refused.map((one) => `${JSON.stringify(one)}\n`).join("");
      if (list !== "") refusedBytes = await writeFileAt(refusedFile, refusedBytes, list);
      // The one of an earlier import goes only once this one has come to something.
      else if (hasOldList && line > 0) await removeFile(refusedFile);
      hasOldList &&= line === 0;
      const counts = { offset, line, accepted, duplicate, refused: count };
      const fingerprint = await fingerprintOf(source.part, offset);
      await replaceFile(stateFile, writeState({ version: 1, base, target, ...counts, refusedBytes, fingerprint }));
    },
    finish: () => removeFile(stateFile),
  };
}

const FORGETFUL: Journal = { begun: NOTHING, refusedFile: null, keep: async () => {}, finish: async () => {} };

async function readBefore(stateFile: string): Promise<Stored | null | string> {
  const file = await readFileLater(stateFile);
  if (!file.ok) return file.why === "no such file" ? null : `cannot read ${stateFile}: ${file.why}`;
  return parseState(file.text) ?? `${stateFile} is not what an import writes: remove it to begin anew`;
}
