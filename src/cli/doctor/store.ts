import type { Contents } from "../../model/contents.ts";
import { type Alias, describeAlias } from "../../model/space.ts";
import { formatSize } from "../../model/units.ts";
import { type Finding, say } from "./finding.ts";

export type StoreFacts =
  | { readonly kind: "missing"; readonly path: string }
  /** The daemon that runs has another file open than the next start would find; `since` as it says, null if it did not look. */
  | { readonly kind: "gone"; readonly path: string; readonly what: string; readonly since: string | null }
  | { readonly kind: "closed"; readonly path: string; readonly why: string }
  | { readonly kind: "broken"; readonly path: string; readonly why: string }
  | {
      readonly kind: "read";
      readonly path: string;
      readonly bytes: number;
      readonly schema: number;
      /** The newest schema that this binary knows. */
      readonly newest: number;
      /** Why this binary cannot use this schema; null if it can. */
      readonly refused: { readonly code: string; readonly message: string } | null;
      /** Null if it is an SQLite file of something else. */
      readonly contents: Contents | null;
      /** What is wrong with it, none if nothing is; null if it was not looked through. */
      readonly damage: readonly string[] | null;
    };

/** Whether the outbox is whole, and of a version that this binary knows. */
export function judgeStore(facts: StoreFacts): readonly Finding[] {
  const { ok, skipped, warning, error } = say("store");
  const { path } = facts;
  switch (facts.kind) {
    case "missing":
      return [warning("store_missing", `there is no outbox at ${path} yet`, "the first start makes it")];
    case "gone": {
      const since = facts.since === null ? "" : ` since ${facts.since}`;
      return [
        error("outbox_gone", `${path} was ${facts.what} while the daemon runs${since}: calls are refused`, RESCUE),
      ];
    }
    case "closed":
      return [skipped("unseen", `${path} cannot be looked into: ${facts.why}`, "run fairlead doctor as root")];
    case "broken":
      return [error("store_damaged", `${path} cannot be read: ${facts.why}`, MEND)];
    case "read":
      return [judgeSchema(facts), judgeDamage(facts)];
  }

  function judgeSchema({ schema, newest, refused, contents }: Read): Finding {
    const version = `its schema is version ${schema}`;
    if (refused) {
      const remedy =
        refused.code === "schema_newer" ? "use the newer Fairlead that wrote it" : "set another outbox.path";
      return error(refused.code, refused.message, remedy);
    }
    if (contents === null) return error("store_unknown", `${path} is no outbox of Fairlead`, "look at outbox.path");
    if (schema < newest) {
      const what = `${version}, and this binary brings it to ${newest} when it starts`;
      return warning("schema_older", what, "run fairlead backup before");
    }
    return ok(`${version}, the one of this binary; ${wordsOf(contents)}`);
  }

  function judgeDamage({ damage, bytes }: Read): Finding {
    if (damage === null) {
      return skipped("unchecked", `its ${formatSize(bytes)} were not looked through`, "fairlead doctor --full does so");
    }
    if (damage.length === 0) return ok(`${path} is whole (${formatSize(bytes)})`);
    return error("store_damaged", `${path} is damaged: ${damage.join("; ")}`, MEND);
  }
}

/** Whether the outbox has one path only. */
export function judgeAlias(path: string, alias: Alias | null): readonly Finding[] {
  if (alias === null) return [];
  const { why, remedy } = describeAlias(alias);
  const what = `the next start refuses ${path}: ${why}`;
  return [say("store").error(alias.kind === "linked" ? "outbox_linked" : "outbox_mounted", what, remedy)];
}

type Read = Extract<StoreFacts, { kind: "read" }>;

const RESCUE =
  "do not stop the daemon: fairlead backup FILE copies what it still has; then stop it, run fairlead restore --force FILE, and " +
  "start it. If the file was only moved, move it back";

const MEND = "stop the daemon, copy the file elsewhere, and restore a backup (fairlead restore)";

function wordsOf({ events, deliveries }: Contents): string {
  const counts = Object.entries(deliveries).map(([state, count]) => `${count} ${state}`);
  return `${events} events, deliveries: ${counts.join(", ")}`;
}
