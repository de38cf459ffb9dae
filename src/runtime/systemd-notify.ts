import { spawn } from "node:child_process";
import process from "node:process";
import { openLibc } from "./libc.ts";

/** How systemd is told something. */
export type Notify = {
  /** Sends assignments, one a line. Rejects with a reason when it cannot. */
  send(message: string): Promise<void>;
  /** The machine's monotonic clock in microseconds, as systemd reads it; null where nobody can say. */
  monotonic(): bigint | null;
};

/**
 * To the socket that $NOTIFY_SOCKET names: by the system's C library, as node can send nothing to such a socket, and where
 * that cannot be called by systemd's own program.
 */
export function createNotify(socket: string): Notify {
  const address = toAddress(socket);
  if (typeof address === "string") return { send: () => Promise.reject(new Error(address)), monotonic: () => null };
  const sockets = openDatagramSockets();
  if (!sockets) return { send: inTurn((message) => runProgram(message, socket)), monotonic: () => null };
  return { send: async (message) => sendTo(address, message, sockets), monotonic: sockets.monotonic };
}

const UNIX_FAMILY = 1;
/** Bytes of a name, from Linux's <linux/un.h>. */
const LONGEST_NAME = 108;

/** A `struct sockaddr_un`, or why there is none. Exported for its test. */
export function toAddress(socket: string): Uint8Array | string {
  if (!/^[/@]./.test(socket)) return `cannot tell systemd how it is: NOTIFY_SOCKET=${socket} is no path and no @name`;
  // The name of an abstract socket begins with a zero and ends where the address does, a path ends with a zero.
  const name = Buffer.from(socket.startsWith("@") ? `\0${socket.slice(1)}` : `${socket}\0`);
  if (name.length > LONGEST_NAME) return `cannot tell systemd how it is: NOTIFY_SOCKET=${socket} is too long`;
  return Buffer.concat([new Uint8Array(new Uint16Array([UNIX_FAMILY]).buffer), name]);
}

function sendTo(address: Uint8Array, message: string, { send }: DatagramSockets): void {
  if (send(Buffer.from(message), address)) return;
  throw new Error("cannot tell systemd how it is: the socket that NOTIFY_SOCKET names takes no message");
}

/** One after the other: what is told first has to arrive first. */
function inTurn(send: Notify["send"]): Notify["send"] {
  let last: Promise<unknown> = Promise.resolve();
  return (message) => {
    const sent = last.then(() => send(message));
    last = sent.catch(() => {});
    return sent;
  };
}

/** systemd believes it only if the unit has NotifyAccess=all: it is another process. Exported for its test. */
export function runProgram(message: string, socket: string): Promise<void> {
  const env = { PATH: process.env.PATH, NOTIFY_SOCKET: socket };
  return new Promise((resolve, reject) => {
    const child = spawn("systemd-notify", message.split("\n"), { env, stdio: "ignore" });
    const fail = (why: string): void => reject(new Error(`cannot tell systemd how it is: systemd-notify ${why}`));
    child.on("error", ({ message }) => fail(`cannot be run: ${message}`));
    child.on("close", (code) => (code === 0 ? resolve() : fail(`has ended with ${code}`)));
  });
}

/** What node lacks: datagrams to Unix sockets, and the clock that systemd reads. */
type DatagramSockets = {
  /** Sends one datagram to a `struct sockaddr_un`. False when the system refuses it. */
  send(bytes: Uint8Array, address: Uint8Array): boolean;
  /** In microseconds. */
  monotonic(): bigint;
};

/** The functions of the C library that are called, by their types in C. */
const FUNCTIONS = {
  socket: ["i32", "i32", "i32"],
  sendto: ["i32", "memory", "usize", "i32", "memory", "u32"],
  close: ["i32"],
  clock_gettime: ["i32", "memory"],
} as const;

type Libc = {
  socket(family: number, type: number, protocol: number): number;
  /** Answers the number of bytes, of which there are fewer than fit into 32 bits, or -1. */
  sendto(socket: number, data: Memory, size: number, flags: number, address: Memory, addressSize: number): number;
  close(socket: number): number;
  clock_gettime(clock: number, time: Memory): number;
};
type Memory = Uint8Array | BigInt64Array;

// From Linux's <sys/socket.h> and <time.h>, the same on all machines that Bun and Deno run on.
const AF_UNIX = 1;
const SOCK_DGRAM = 2;
const SOCK_CLOEXEC = 0o2000000;
const MSG_NOSIGNAL = 0x4000;
const CLOCK_MONOTONIC = 1;

/** Null where the C library cannot be called. */
export function openDatagramSockets(): DatagramSockets | null {
  const libc = process.platform === "linux" ? openLibc<Libc>(FUNCTIONS) : null;
  return libc && { send: (bytes, address) => send(libc, bytes, address), monotonic: () => monotonic(libc) };
}

/** A socket for each: there are few messages, and none may be lost to a socket that has gone bad. */
function send(libc: Libc, bytes: Uint8Array, address: Uint8Array): boolean {
  const socket = libc.socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return false;
  const sent = libc.sendto(socket, bytes, bytes.length, MSG_NOSIGNAL, address, address.length);
  libc.close(socket);
  return sent === bytes.length;
}

function monotonic(libc: Libc): bigint {
  const time = new BigInt64Array(2);
  libc.clock_gettime(CLOCK_MONOTONIC, time);
  const [seconds = 0n, nanoseconds = 0n] = time;
  return seconds * 1_000_000n + nanoseconds / 1_000n;
}
