import * as v from "valibot";

/** What people read about a key: written beside its type, and nowhere else. */
export type Manual = {
  /** What the key is, in a sentence or two: editors show it, and the example file begins with it. */
  readonly description: string;
  /** Goes on in the example file: when and why to change it. Line breaks in it are as good as spaces. */
  readonly more?: string;
  /** A value worth writing. The reference and editors show it; the example file does if there is no default. */
  readonly example?: string | number | boolean | readonly string[];
  /** Of a key that may be left out and has no default: what counts then. */
  readonly leftOut?: string;
  /** Of maps under names that the operator chooses: the name of the one that the example file shows. */
  readonly name?: string;
  /** Of values under names that the operator chooses: those that the example file shows, set and commented out. */
  readonly entries?: Readonly<Record<string, string>>;
  readonly commentedOut?: Readonly<Record<string, string>>;
};

/** A key of the config file: what may stand there, and its manual. */
export function key<Schema extends v.GenericSchema>(schema: Schema, manual: Manual) {
  return v.pipe(schema, v.description(manual.description), v.metadata({ manual }));
}

/** The manual of a key; throws if its schema was not made by `key`. */
export function manualOf(schema: v.GenericSchema): Manual {
  const { manual } = v.getMetadata(schema) as { readonly manual?: Manual };
  if (manual) return manual;
  throw new Error("a key of the config has no manual: this is a bug in Fairlead, please report it");
}

/** What counts when a key without a default is left out. */
export function leftOutOf(schema: v.GenericSchema): string {
  const { leftOut } = manualOf(schema);
  if (leftOut !== undefined) return leftOut;
  throw new Error(
    "a key of the config does not say what counts without it: this is a bug in Fairlead, please report it",
  );
}
