import { chmodSync, lstatSync, rmSync, type Stats } from "node:fs";
import type { Listen } from "../model/config.ts";

type Scheme = "http" | "https";

/** Where it listens: `http://127.0.0.1:8080`, `https://[::1]:8443` or `unix:/path`. */
export function addressOf(listen: Listen, port: number, scheme: Scheme = "http"): string {
  if (listen.kind === "unix") return `unix:${listen.path}`;
  return `${scheme}://${listen.host.includes(":") ? `[${listen.host}]` : listen.host}:${port}`;
}

type ListenPlace = { readonly listen: Listen; readonly scheme: Scheme };

/** Starts a server. If that fails, rejects with an error that names the address and says what to do. */
export async function explainListening<T>(place: ListenPlace, start: () => T | Promise<T>): Promise<T> {
  try {
    return await start();
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    const reason = (place.listen.kind === "tcp" ? TCP_REASONS : UNIX_REASONS)[code];
    throw listenError(place, reason ?? (error instanceof Error ? error.message : String(error)), error);
  }
}

export function listenError({ listen, scheme }: ListenPlace, reason: string, cause?: unknown): Error {
  const address = addressOf(listen, listen.kind === "tcp" ? listen.port : 0, scheme);
  return new Error(`cannot listen on ${address}: ${reason}`, { cause });
}

const NOT_HERE = "this machine does not have that address; list its addresses with `ip address` for those it has";

const TCP_REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: "the port is in use; stop the program that has it (`ss -ltnp` names it) or choose another port",
  EADDRNOTAVAIL: NOT_HERE,
  // What Deno's node:https makes of EADDRNOTAVAIL.
  EINVAL: NOT_HERE,
  EACCES: "permission denied; a port below 1024 needs AmbientCapabilities=CAP_NET_BIND_SERVICE in the unit",
};

const TOO_LONG = "the path is too long for a socket; it may have 107 bytes";

const UNIX_REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: "the path is in use; stop the program that has it or choose another path",
  ENOENT: "the folder does not exist; create it, or let systemd do so with RuntimeDirectory=",
  ENOTDIR: "a part of the path is not a folder",
  EACCES: "permission denied; the daemon must be able to write to the folder",
  EROFS: "the file system is read-only; choose a path under /run",
  ENAMETOOLONG: TOO_LONG,
  EINVAL: TOO_LONG,
};

/** Owner and group may connect: a proxy in front joins the group. */
const SOCKET_MODE = 0o660;

/**
 * Frees a path to listen on. A killed process leaves its socket behind: it is removed, but only if nothing answers on it.
 * Rejects if the path belongs to anything else.
 */
export async function claimSocket(path: string): Promise<void> {
  const taken = (reason: string) => listenError({ listen: { kind: "unix", path }, scheme: "http" }, reason);
  const found = statSocket(path);
  if (!found) return;
  if (!found.isSocket()) throw taken("there is a file of that name; remove it or choose another path");
  const answer = await tryConnect(path);
  if (answer === "connected") throw taken("another program answers there; stop it or choose another path");
  if (answer !== "ECONNREFUSED" && answer !== "ENOENT") {
    throw taken(`there is a socket already, which cannot be tried (${answer}); remove it if nothing uses it`);
  }
  rmSync(path, { force: true });
}

/** Lets the group connect to a new socket. Answers a function that removes the socket. */
export function shareSocket(path: string): () => void {
  chmodSync(path, SOCKET_MODE);
  const own = statSocket(path);
  return () => {
    // The path may be gone by now, or belong to a daemon started meanwhile. File systems reuse inode numbers.
    const found = statSocket(path);
    if (own && found?.ino === own.ino && found.ctimeMs === own.ctimeMs) rmSync(path, { force: true });
  };
}

/** A file that cannot be seen counts as missing: listening will then fail, and say why. */
function statSocket(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** Answers `connected`, or the error's code. */
async function tryConnect(path: string): Promise<string> {
  // Imported late: it is rarely needed, and slows the start.
  const { connect } = await import("node:net");
  return new Promise((resolve) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve("connected");
    });
    socket.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  });
}
