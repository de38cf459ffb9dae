import type { Effective, EffectiveMap, EffectiveValue } from "./effective.ts";
import { fromOfList, fromWords } from "./from.ts";

/** A key with the value that counts, for programs. Null: the key has no default, and the file does not have it. */
export type Setting = {
  /** As `destinations.crm.webhooks[0].url`. */
  readonly path: string;
  readonly value: EffectiveValue["value"] | readonly EffectiveValue["value"][] | null;
  readonly from: string;
};

/** All keys in a row, in the order of the schema. */
export function listSettings(effective: EffectiveMap, file: string): readonly Setting[] {
  return effective.entries.flatMap(([, entry]) => settingsOf(entry, file));
}

function settingsOf(effective: Effective, file: string): readonly Setting[] {
  switch (effective.kind) {
    case "map":
      return listSettings(effective, file);
    case "left out":
      return [{ path: effective.path, value: null, from: "default" }];
    case "value":
      return [{ path: effective.path, value: effective.value, from: fromWords(effective.from, file) }];
    case "list": {
      const value = effective.items.flatMap((item) => (item.kind === "value" ? [item.value] : []));
      if (value.length < effective.items.length) return effective.items.flatMap((item) => settingsOf(item, file));
      return [{ path: effective.path, value, from: fromWords(fromOfList(effective), file) }];
    }
  }
}
