import { spawn } from "node:child_process";
import process from "node:process";
import { openLibc } from "./libc.ts";

/** Sends messages to systemd, see sd_notify(3). */
export type Notify = {
  /** Sends assignments, one a line. Rejects with a reason when it cannot. */
  send(message: string): Promise<void>;
  /** The machine's monotonic clock in microseconds; null where it cannot be read. */
  monotonic(): bigint | null;
};

/**
 * Sends to the socket that $NOTIFY_SOCKET names. node cannot send to such a socket, so the C library does; where that cannot
 * be called, the program `systemd-notify` does.
 */
export function createNotify(socket: string): Notify {
  const address = toAddress(socket);
  if (typeof address === "string") return { send: () => Promise.reject(failure(address)), monotonic: () => null };
  const libc = process.platform === "linux" ? openLibc<Libc>(FUNCTIONS) : null;
  if (!libc) return { send: inOrder((message) => runProgram(message, socket)), monotonic: () => null };
  return {
    async send(message) {
      if (!sendDatagram(libc, Buffer.from(message), address)) {
        throw failure("the socket of NOTIFY_SOCKET accepts no message");
      }
    },
    monotonic: () => readMonotonic(libc),
  };
}

function failure(why: string): Error {
  return new Error(`cannot notify systemd: ${why}`);
}

/** A `struct sockaddr_un`, or why there is none. Exported for its test. */
export function toAddress(socket: string): Uint8Array | string {
  if (!/^[/@]./.test(socket)) return `NOTIFY_SOCKET=${socket} is neither a path nor an @name`;
  // The name of an abstract socket begins with a zero and ends with the address; a path ends with a zero.
  const name = Buffer.from(socket.startsWith("@") ? `\0${socket.slice(1)}` : `${socket}\0`);
  if (name.length > LONGEST_NAME) return `NOTIFY_SOCKET=${socket} is too long`;
  return Buffer.concat([new Uint8Array(new Uint16Array([AF_UNIX]).buffer), name]);
}

/** Messages must arrive in the order in which they were sent. */
function inOrder(send: Notify["send"]): Notify["send"] {
  let last: Promise<unknown> = Promise.resolve();
  return (message) => {
    const sent = last.then(() => send(message));
    last = sent.catch(() => {});
    return sent;
  };
}

/** This is another process, so systemd accepts its message only if the unit has NotifyAccess=all. Exported for its test. */
export function runProgram(message: string, socket: string): Promise<void> {
  const env = { PATH: process.env.PATH, NOTIFY_SOCKET: socket };
  return new Promise((resolve, reject) => {
    const child = spawn("systemd-notify", message.split("\n"), { env, stdio: "ignore" });
    child.on("error", ({ message }) => reject(failure(`systemd-notify cannot be run: ${message}`)));
    child.on("close", (code) => (code === 0 ? resolve() : reject(failure(`systemd-notify ended with ${code}`))));
  });
}

/** The functions of the C library that are called, by their types in C. */
const FUNCTIONS = {
  socket: ["i32", "i32", "i32"],
  sendto: ["i32", "memory", "usize", "i32", "memory", "u32"],
  close: ["i32"],
  clock_gettime: ["i32", "memory"],
} as const;

type Libc = {
  socket(family: number, type: number, protocol: number): number;
  /** Answers the number of bytes, which fits into 32 bits here, or -1. */
  sendto(
    socket: number,
    data: Uint8Array,
    size: number,
    flags: number,
    address: Uint8Array,
    addressSize: number,
  ): number;
  close(socket: number): number;
  clock_gettime(clock: number, time: BigInt64Array): number;
};

// From Linux's <sys/socket.h>, <sys/un.h> and <time.h>, the same on all machines that Bun and Deno run on.
const AF_UNIX = 1;
const LONGEST_NAME = 108;
const SOCK_DGRAM = 2;
const SOCK_CLOEXEC = 0o2000000;
const MSG_NOSIGNAL = 0x4000;
const CLOCK_MONOTONIC = 1;

/** Opens a socket for each datagram: there are few, and one bad socket must not lose the others. False if it is refused. */
function sendDatagram(libc: Libc, bytes: Uint8Array, address: Uint8Array): boolean {
  const socket = libc.socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return false;
  const sent = libc.sendto(socket, bytes, bytes.length, MSG_NOSIGNAL, address, address.length);
  libc.close(socket);
  return sent === bytes.length;
}

function readMonotonic(libc: Libc): bigint {
  const time = new BigInt64Array(2);
  libc.clock_gettime(CLOCK_MONOTONIC, time);
  const [seconds = 0n, nanoseconds = 0n] = time;
  return seconds * 1_000_000n + nanoseconds / 1_000n;
}
