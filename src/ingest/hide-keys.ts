import type { Source } from "../model/source.ts";

/** Takes write keys out of a text that the operator will see. `claimed` are further ones, which its request has sent as its own. */
export type HideKeys = (text: string, claimed?: readonly string[]) => string;

const HIDDEN = "***";
/** What is shorter is a word rather than a secret, and would be taken out of sentences. */
const SHORTEST = 6;

/**
 * Hides the write keys of all sources, as they are, in a URL and as Basic authorization. However many there are, a text is
 * gone through once: anybody may have requests refused.
 */
export function createHideKeys(sources: readonly Source[]): HideKeys {
  const forms = formsOf(sources.map(({ writeKey }) => writeKey.reveal()));
  const finder: Finder = {
    marks: new Uint8Array(MARKS),
    byStart: Map.groupBy(forms, (one) => one.slice(0, SHORTEST)),
  };
  for (const form of forms) finder.marks[markOf(form, 0)] = 1;
  return (text, claimed = []) =>
    formsOf(claimed).reduce((shown, form) => shown.replaceAll(form, HIDDEN), hide(text, finder));
}

type Finder = {
  /** Set for each three characters that a key begins with: nearly all places of a text are passed by looking here. */
  readonly marks: Uint8Array;
  /** By its first characters. */
  readonly byStart: ReadonlyMap<string, readonly string[]>;
};

const MARKS = 2 ** 16;

function markOf(text: string, at: number): number {
  return (text.charCodeAt(at) * 961 + text.charCodeAt(at + 1) * 31 + text.charCodeAt(at + 2)) % MARKS;
}

function hide(text: string, { marks, byStart }: Finder): string {
  let shown = "";
  let from = 0;
  for (let at = 0; at + SHORTEST <= text.length; at += 1) {
    if (marks[markOf(text, at)] === 0) continue;
    const found = byStart.get(text.slice(at, at + SHORTEST))?.find((one) => text.startsWith(one, at));
    if (found === undefined) continue;
    shown += text.slice(from, at) + HIDDEN;
    from = at + found.length;
    at = from - 1;
  }
  return shown + text.slice(from);
}

/** The longest first: what is left of one must not be taken for another. */
function formsOf(keys: readonly string[]): readonly string[] {
  const forms = new Set(keys.flatMap(spellings).filter((one) => one.length >= SHORTEST));
  return [...forms].sort((one, other) => other.length - one.length);
}

function spellings(key: string): readonly string[] {
  // As the user name of Basic authorization, which has a colon behind it, and by mistake alone.
  const encoded = [`${key}:`, key].map((text) => Buffer.from(text).toString("base64"));
  const unpadded = encoded.map((text) => text.replace(/=+$/, ""));
  return [key, encodeURIComponent(key.toWellFormed()), JSON.stringify(key).slice(1, -1), ...encoded, ...unpadded];
}
