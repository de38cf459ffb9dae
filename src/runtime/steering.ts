import { readdirSync } from "node:fs";
import process from "node:process";
import { openLibc } from "./libc.ts";

/**
 * Directs new connections to the newest of several servers that share a port. Otherwise the kernel gives each server a share
 * of them, and closing a server resets those that it has not accepted yet.
 */
export type Steering = {
  /** Opens a server, which must listen on one socket, and directs all new connections to it. */
  enter<T>(open: () => T): Entered<T>;
};

export type Entered<T> = {
  readonly opened: T;
  /** False if connections cannot be led. */
  readonly led: boolean;
  /** To be called as soon as the server's socket is closed, in the same turn of the event loop. */
  left(): void;
};

/** For servers that share one port. With null, nothing is led. */
export function createSteering(sockets: ListeningSockets | null): Steering {
  // In the kernel's order: a new socket comes last, and the last one takes the place of one that is closed.
  const group: SocketNumber[] = [];
  let newest: SocketNumber | undefined;
  function lead(): boolean {
    if (sockets === null || newest === undefined) return false;
    const place = group.indexOf(newest);
    return place >= 0 && sockets.lead(newest, place);
  }
  return {
    enter(open) {
      const before = new Set(sockets?.list());
      const opened = open();
      const own = sockets?.list().find((socket) => !before.has(socket));
      newest = own;
      if (own === undefined) return { opened, led: false, left() {} };
      group.push(own);
      return {
        opened,
        led: lead(),
        left() {
          const last = group.pop();
          if (last !== undefined && last !== own) group[group.indexOf(own)] = last;
          // Between the closing and this, the kernel chose among the other sockets, all of which answer.
          lead();
        },
      };
    },
  };
}

/** The sockets on which this process listens. */
type ListeningSockets = {
  list(): readonly SocketNumber[];
  /**
   * Leads new connections of the port that `socket` shares to the socket at this place of those that share it, counted
   * from 0. The kernel chooses if there is none at that place. False if it is refused.
   */
  lead(socket: SocketNumber, place: number): boolean;
};

/** A file descriptor. */
type SocketNumber = number;

type Libc = {
  getsockopt(socket: number, level: number, name: number, value: NodeJS.TypedArray, length: NodeJS.TypedArray): number;
  setsockopt(socket: number, level: number, name: number, value: NodeJS.TypedArray, length: number): number;
};

const FUNCTIONS = {
  getsockopt: ["i32", "i32", "i32", "memory", "memory"],
  setsockopt: ["i32", "i32", "i32", "memory", "u32"],
};

// From Linux's <asm-generic/socket.h> and <linux/bpf_common.h>.
const SOL_SOCKET = 1;
const SO_ACCEPTCONN = 30;
const SO_ATTACH_REUSEPORT_CBPF = 51;
const BPF_RET_CONSTANT = 0x06;

/** Null where connections cannot be led: only Linux can, and only Bun needs it. */
export function listeningSockets(): ListeningSockets | null {
  if (process.platform !== "linux" || typeof Bun === "undefined") return null;
  const libc = openLibc<Libc>(FUNCTIONS);
  if (!libc) return null;
  // Not an import, because Deno does not know the module.
  const { ptr } = process.getBuiltinModule("bun:ffi") as { ptr(memory: NodeJS.TypedArray): number };
  return {
    list: () => descriptors().filter((descriptor) => isListening(libc, descriptor)),
    lead(socket, place) {
      // A classic BPF program of one instruction, 8 bytes, which answers the same place for every connection.
      const program = new Uint32Array([BPF_RET_CONSTANT, place]);
      const value = new BigUint64Array([1n, BigInt(ptr(program))]);
      return libc.setsockopt(socket, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, value, value.byteLength) === 0;
    },
  };
}

function descriptors(): readonly number[] {
  try {
    return readdirSync("/proc/self/fd").map(Number);
  } catch {
    return [];
  }
}

function isListening({ getsockopt }: Libc, descriptor: number): boolean {
  const value = new Int32Array(1);
  const length = new Uint32Array([value.byteLength]);
  return getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, value, length) === 0 && value[0] === 1;
}
