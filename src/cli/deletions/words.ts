import { printable } from "../printable.ts";
import { table } from "../table.ts";
import { format } from "../unserved/words.ts";
import type { SaidDeletion, SaidReceipt } from "./said.ts";

/** For a person: a line for each request. The newest comes first. */
export function toList({ deletions }: { readonly deletions: readonly SaidDeletion[] }, more: boolean): string {
  if (deletions.length === 0) return "There is no deletion request.";
  const head = ["id", "status", "requested", "users", "sent", "waiting", "given up", "wishes"];
  const rows = deletions.map((one) => {
    const { sent, waiting, givenUp } = sumOf(one);
    const counts = [one.users, sent, waiting, givenUp].map(String);
    const [users = "", ...others] = counts;
    return [one.id, statusOf(one), one.requestedAt, users, ...others, wishesOf(one)].map(printable);
  });
  const last = more ? "\n\nThere are older ones: --limit shows more." : "";
  return `${table([head, ...rows])}${last}`;
}

/** For a person: all there is to know of one. */
export function toShown(one: SaidReceipt): string {
  const { id, requestedAt, endedAt, users, scope, sources, notices, erased, untold } = one;
  const from = scope === null ? "all sources" : scope.join(", ");
  const lines = [
    `${id} is ${statusOf(one)}${endedAt === null ? "" : ` since ${endedAt}`}.`,
    `  requested ${requestedAt}: ${users === 1 ? "1 user" : `${format(users)} users`} of ${from}${wishesIn(one)}`,
    ...(sources.length === 0 ? ["  Nobody takes events of these sources: there was nobody to tell."] : []),
    ...notices.map((notice) => `  ${notice.source} to ${notice.destination}: ${countsOf(notice)}`),
    ...untoldLines(untold),
    ...(erased ? [`  erased: ${format(erased.events)} events and ${format(erased.deliveries)} deliveries`] : []),
    ...hintsOf(one),
    "",
    ...one.people.map((person) => `  ${personOf(person)}`),
    ...(one.people.some(({ userId }) => userId === null) ? ["", `  ${RECOGNISE}`] : []),
  ];
  return lines.map(printable).join("\n");
}

function hintsOf({ status, stage, erase, id }: SaidDeletion): readonly string[] {
  if (status !== "failed" || stage !== "settling") return [];
  return [
    "  See which: fairlead deliveries --type delete --state failed (or expired). Replay them: fairlead replay ID.",
    ...(erase ? [`  Nothing is erased until they have gone out, or: fairlead deletions erase ${id}`] : []),
  ];
}

/** What the daemon does now, where that is more than waiting for answers. */
function statusOf({ status, stage }: SaidDeletion): string {
  return status === "running" && stage === "erasing" ? "running (erasing)" : status;
}

function wishesOf({ erase, suppress }: SaidDeletion): string {
  return [...(erase ? ["erase"] : []), ...(suppress ? ["suppress"] : [])].join(", ");
}

function wishesIn(one: SaidDeletion): string {
  const wishes = wishesOf(one);
  return wishes === "" ? "" : `, with ${wishes}`;
}

function countsOf(notice: SaidDeletion["notices"][number]): string {
  const counts = (["delivered", "waiting", "failed", "expired", "forgotten"] as const).flatMap((state) =>
    notice[state] > 0 ? [`${format(notice[state])} ${state}`] : [],
  );
  return counts.join(", ");
}

function personOf({ userId, hash, suppressed }: SaidReceipt["people"][number]): string {
  return `${userId ?? `erased, SHA-256 ${hash}`}${suppressed ? " (suppressed)" : ""}`;
}

const RECOGNISE = "Whether it was a certain user: fairlead deletions --user USER_ID; by hand: fairlead deletions salt";

/** Who is not told, and has to be by other means. */
export function untoldLines(untold: readonly string[] = []): readonly string[] {
  return untold.map((name) => `  not told: ${name}, which has got events once and is not in the config any more`);
}

function sumOf({ notices }: SaidDeletion) {
  const sum = (count: (one: SaidDeletion["notices"][number]) => number): number =>
    notices.reduce((total, one) => total + count(one), 0);
  return {
    sent: sum(({ delivered, forgotten }) => delivered + forgotten),
    waiting: sum(({ waiting }) => waiting),
    givenUp: sum(({ failed, expired }) => failed + expired),
  };
}
