import type { GenericSchema } from "valibot";
import { isScalar } from "yaml";
import { keyPath } from "./problems.ts";
import { type Refusal, refuseKey } from "./refuse.ts";
import { keyText } from "./scalars.ts";
import type { Shape } from "./shape.ts";
import { suggest } from "./suggest.ts";

export type MapShape = Extract<Shape, { kind: "map" | "names" }>;

/** A key of a map with its place, and what may stand under it, or why it may not stand there itself. */
export type Key = { readonly name: string; readonly path: string; readonly at: number } & (
  | { readonly kind: "known"; readonly schema: GenericSchema }
  | { readonly kind: "refused"; readonly refusal: Refusal; readonly meant: string | null }
);

export type InMap = {
  readonly shape: MapShape;
  /** The map itself. */
  readonly place: { readonly path: string; readonly keyAt: number };
  readonly text: string;
  /** The line in which the key stood before, if it did. */
  lineBefore(name: string): number | undefined;
};

/** These cannot be keys of what valibot answers: it drops them without a word. */
const RESERVED = ["__proto__", "constructor", "prototype"];

/** Decides about one key of a map. */
export function readKey(node: unknown, { shape, place, text, lineBefore }: InMap): Key {
  const name = keyText(node);
  const at = isScalar(node) ? (node.range?.[0] ?? place.keyAt) : place.keyAt;
  const key = { name: name ?? "", path: name === null ? `${place.path}[?]` : keyPath(place.path, name), at };
  const meant = meantKey(key.name, shape);
  const message = keyFault(key.name, { shape, meant, before: lineBefore(key.name) });
  const refusal = refuseKey(node, text) ?? (message === null ? null : { message, at });
  if (refusal) return { ...key, kind: "refused", refusal, meant };
  const schema = shape.kind === "names" ? shape.value : shape.entries[key.name];
  if (schema) return { ...key, kind: "known", schema };
  throw new Error(`the known key ${key.path} has no schema: this is a bug in Fairlead, please report it`);
}

function meantKey(name: string, shape: MapShape): string | null {
  if (shape.kind === "names") return null;
  return Object.hasOwn(shape.entries, name) ? name : suggest(name, Object.keys(shape.entries));
}

type Fault = { readonly shape: MapShape; readonly meant: string | null; readonly before: number | undefined };

function keyFault(name: string, { shape, meant, before }: Fault): string | null {
  if (before !== undefined) return `is set twice: first in line ${before}`;
  if (shape.kind === "names") return RESERVED.includes(name) ? "is a reserved word: choose another name" : null;
  if (meant === name) return null;
  const known = Object.keys(shape.entries).join(", ");
  return `is not a known key: ${meant === null ? `known here are ${known}` : `did you mean ${meant}?`}`;
}
