import process from "node:process";
import { openLibc } from "./libc.ts";

/** What node lacks: datagrams to Unix sockets, and the clock that systemd reads. */
export type DatagramSockets = {
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
