import type { SaidRequested } from "../deletions/said.ts";
import { untoldLines } from "../deletions/words.ts";
import { printable } from "../printable.ts";
import type { Plan } from "../unserved/confirm.ts";
import { format } from "../unserved/words.ts";

/** What is wanted of them. */
export type Wishes = { readonly source?: readonly string[]; readonly erase?: boolean; readonly suppress?: boolean };

export function usersOf(count: number): string {
  return count === 1 ? "1 user" : `${format(count)} users`;
}

/** What a person is asked before it is done. */
export function toPlan(users: readonly string[], { source, erase, suppress }: Wishes): Plan {
  const [one, ...others] = users;
  const who = others.length === 0 ? `user ${printable(one ?? "")}` : usersOf(users.length);
  const where = source ? `of ${source.map(printable).join(", ")}` : "of all sources";
  const more = [
    ...(erase ? ["what is kept here of them is erased"] : []),
    ...(suppress ? ["their later calls are refused"] : []),
  ];
  const about = `All that take events ${where} will be told to delete ${who}${more.map((text) => `; ${text}`).join("")}`;
  return { about, question: "Do that?" };
}

/** A part of them. */
export type Requested = SaidRequested & { readonly users: number };

export function toWords(requested: readonly Requested[]): string {
  const lines = requested.flatMap(({ id, users, notifications, untold }) => [
    `${printable(id)}: ${usersOf(users)}, ${notifications === 1 ? "1 notification" : `${format(notifications)} notifications`}`,
    ...(notifications === 0 ? ["  nobody takes events of these sources: there is nobody to tell"] : []),
    ...untoldLines(untold).map(printable),
  ]);
  const [one] = requested;
  const next = one ? [`See how far that is: fairlead deletions show ${printable(one.id)}`] : [];
  return [...lines, ...next].join("\n");
}
