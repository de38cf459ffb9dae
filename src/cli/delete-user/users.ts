import { MB } from "../../model/units.ts";
import type { Complaint } from "../complain.ts";
import { EXIT } from "../exit.ts";
import { readTyped } from "../input.ts";

/** A million users, and more. */
const MOST_BYTES = 64 * MB;

export type UsersOptions = { readonly from?: string };

/** The users who are named, as arguments and in a file with one on each line; `-` is standard input. Each comes once. */
export async function readUsers(
  ids: readonly string[],
  { from }: UsersOptions,
): Promise<readonly string[] | Complaint> {
  const lines = from === undefined ? [] : await readLines(from);
  if ("code" in lines) return lines;
  const users = [...new Set([...ids, ...lines])];
  const whence =
    from === undefined ? "say whom: `fairlead delete-user u-1234`, or --from FILE" : `${from} names nobody`;
  if (users.length === 0) return { code: EXIT.usage, message: whence };
  return users.includes("") ? { code: EXIT.usage, message: "a userId is not empty" } : users;
}

async function readLines(from: string): Promise<readonly string[] | Complaint> {
  const input = await readTyped(from === "-" ? null : from, {
    what: "the userIds, one on each line",
    most: MOST_BYTES,
  });
  if (!input.ok) return { code: EXIT.failed, message: `cannot read ${from}: ${input.why}` };
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(input.bytes);
    return text.split(/\r?\n/).filter((line) => line !== "");
  } catch {
    return { code: EXIT.failed, message: `cannot read ${from}: it is not UTF-8` };
  }
}

/** In one request to the daemon: users, and characters of their ids as JSON. */
const MOST_USERS = 1_000;
const MOST_TEXT = 100_000;

/** Parts of a list that each fit into a request. */
export function inParts(users: readonly string[]): readonly (readonly string[])[] {
  const parts: string[][] = [];
  let size = 0;
  for (const user of users) {
    const length = JSON.stringify(user).length;
    const last = parts.at(-1);
    if (last && last.length < MOST_USERS && size + length <= MOST_TEXT) {
      last.push(user);
      size += length;
    } else {
      parts.push([user]);
      size = length;
    }
  }
  return parts;
}
