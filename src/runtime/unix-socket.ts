import { chmodSync, lstatSync, rmSync, type Stats } from "node:fs";
import { listenError } from "./listen-address.ts";

/** Removes a socket from the file system, if it is still the same one. */
export type ReleaseSocket = () => void;

/** Owner and group may connect: a proxy in front joins the group. */
const SOCKET_MODE = 0o660;

/**
 * Makes a path free to listen on. A process that was killed leaves its socket behind; that is removed, but only when
 * nobody answers on it. Rejects if the path is taken by anything else.
 */
export async function claimSocket(path: string): Promise<void> {
  const found = look(path);
  if (!found) return;
  if (!found.isSocket()) throw taken(path, "there is a file of that name; remove it or choose another path");
  const answer = await knock(path);
  if (answer === "answered") {
    throw taken(path, "another program answers there; stop it or choose another path");
  }
  if (answer !== "ECONNREFUSED" && answer !== "ENOENT") {
    throw taken(path, `there is a socket already, and it cannot be tried (${answer}); remove it if nobody uses it`);
  }
  rmSync(path, { force: true });
}

/** Opens a new socket to the group. Answers what removes it in the end. */
export function shareSocket(path: string): ReleaseSocket {
  chmodSync(path, SOCKET_MODE);
  const own = look(path);
  return () => {
    // By now it may be gone, or belong to a daemon that was started in the meantime.
    const found = look(path);
    if (own && found && isSame(own, found)) rmSync(path, { force: true });
  };
}

/** The time too: file systems give a number again that has become free. */
function isSame(one: Stats, other: Stats): boolean {
  return one.ino === other.ino && one.ctimeMs === other.ctimeMs;
}

function taken(path: string, reason: string): Error {
  return listenError({ kind: "unix", path }, reason);
}

/** What cannot be seen counts as not there: to listen will then fail, and says why. */
function look(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** Tries to connect. Answers `answered`, or the error's code. */
async function knock(path: string): Promise<string> {
  // Imported late: it is rarely needed, and has its price at the start.
  const { connect } = await import("node:net");
  return new Promise((resolve) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve("answered");
    });
    socket.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  });
}
