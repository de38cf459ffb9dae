import type { Listen } from "../model/config.ts";

export type Scheme = "http" | "https";

/** Where it listens: `http://127.0.0.1:8080`, `https://[::1]:8443` or `unix:/path`. */
export function addressOf(
  listen: Listen,
  port: number,
  { scheme = "http" }: { readonly scheme?: Scheme } = {},
): string {
  if (listen.kind === "unix") return `unix:${listen.path}`;
  return `${scheme}://${listen.host.includes(":") ? `[${listen.host}]` : listen.host}:${port}`;
}

export type ListenPlace = { readonly listen: Listen; readonly scheme: Scheme };

/** Runs what begins to listen. If it throws, rejects with an error that names the address and says what to do. */
export async function explainListening<T>({ listen, scheme }: ListenPlace, begin: () => T | Promise<T>): Promise<T> {
  try {
    return await begin();
  } catch (cause) {
    throw listenError(listen, reasonOf(cause, listen), { scheme, cause });
  }
}

type ErrorDetails = { readonly scheme?: Scheme; readonly cause?: unknown };

export function listenError(listen: Listen, reason: string, { scheme = "http", cause }: ErrorDetails = {}): Error {
  const address = addressOf(listen, listen.kind === "tcp" ? listen.port : 0, { scheme });
  return new Error(`cannot listen on ${address}: ${reason}`, cause === undefined ? {} : { cause });
}

function reasonOf(error: unknown, listen: Listen): string {
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
