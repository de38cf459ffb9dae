import { chmodSync, lstatSync, rmSync, type Stats } from "node:fs";
import type { Listen } from "../model/config.ts";

type Scheme = "http" | "https";

/** Where it listens: `http://127.0.0.1:8080`, `https://[::1]:8443` or `unix:/path`. */
export function addressOf(
  listen: Listen,
  port: number,
  { scheme = "http" }: { readonly scheme?: Scheme } = {},
): string {
  if (listen.kind === "unix") return `unix:${listen.path}`;
  return `${scheme}://${listen.host.includes(":") ? `[${listen.host}]` : listen.host}:${port}`;
}

type ListenPlace = { readonly listen: Listen; readonly scheme: Scheme };

/** Runs what begins to listen. If it throws, rejects with an error that names the address and says what to do. */
export async function explainListening<T>({ listen, scheme }: ListenPlace, begin: () => T | Promise<T>): Promise<T> {
  try {
    return await begin();
  } catch (cause) {
    throw listenError(listen, listenReason(cause, listen), { scheme, cause });
  }
}

type ErrorDetails = { readonly scheme?: Scheme; readonly cause?: unknown };

export function listenError(listen: Listen, reason: string, { scheme = "http", cause }: ErrorDetails = {}): Error {
  const address = addressOf(listen, listen.kind === "tcp" ? listen.port : 0, { scheme });
  return new Error(`cannot listen on ${address}: ${reason}`, cause === undefined ? {} : { cause });
}

function listenReason(error: unknown, listen: Listen): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const reason = (listen.kind === "tcp" ? TCP_REASONS : UNIX_REASONS)[code];
  return reason ?? (error instanceof Error ? error.message : String(error));
}

const NOT_HERE = "this machine does not have that address; see `ip address` for those it has";

const TCP_REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: "the port is in use; stop the program that has it (`ss -ltnp` names it) or choose another port",
  EADDRNOTAVAIL: NOT_HERE,
  // What Deno's node:https makes of EADDRNOTAVAIL.
  EINVAL: NOT_HERE,
  EACCES: "permission denied; a port below 1024 needs AmbientCapabilities=CAP_NET_BIND_SERVICE in the unit",
};

const UNIX_REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: "the path is in use; stop the program that has it or choose another path",
  ENOENT: "the folder does not exist; create it, or let systemd do so with RuntimeDirectory=",
  ENOTDIR: "a part of the path is not a folder",
  EACCES: "permission denied; the daemon has to be able to write to the folder",
  EROFS: "the file system is read-only; choose a path under /run",
  ENAMETOOLONG: "the path is too long for a socket; it may have 107 bytes",
  EINVAL: "the path is too long for a socket; it may have 107 bytes",
};

/** Removes a socket from the file system, if it is still the same one. */
export type ReleaseSocket = () => void;

/** Owner and group may connect: a proxy in front joins the group. */
const SOCKET_MODE = 0o660;

/**
 * Makes a path free to listen on. A process that was killed leaves its socket behind; that is removed, but only when
 * nobody answers on it. Rejects if the path is taken by anything else.
 */
export async function claimSocket(path: string): Promise<void> {
  const found = statOf(path);
  if (!found) return;
  if (!found.isSocket()) throw taken(path, "there is a file of that name; remove it or choose another path");
  const answer = await probe(path);
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
  const own = statOf(path);
  return () => {
    // By now it may be gone, or belong to a daemon that was started in the meantime.
    const found = statOf(path);
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
function statOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** Tries to connect. Answers `answered`, or the error's code. */
async function probe(path: string): Promise<string> {
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
