import { readdirSync } from "node:fs";
import process from "node:process";
import { LIBC_NAMES } from "./libc.ts";

/**
 * Leads new connections to the newest of several servers that share a port. Without it the kernel gives each server a
 * share of them, and resets those that an older server has not yet taken at the moment when it is closed.
 */
export type Steering = {
  /** Opens a server, which is to listen on one socket, and leads all new connections to it. */
  enter<T>(open: () => T): Entered<T>;
};

export type Entered<T> = {
  readonly opened: T;
  /** False where connections cannot be led, or the system refused to. */
  readonly led: boolean;
  /** To be called as soon as its socket is closed, in the same turn of the event loop. */
  left(): void;
};

/** For servers that share one port. With null, nothing is led. */
export function createSteering(sockets: ListeningSockets | null): Steering {
  return sockets ? steerBy(sockets) : { enter: (open) => notLed(open()) };
}

function notLed<T>(opened: T): Entered<T> {
  return { opened, led: false, left() {} };
}

function steerBy(sockets: ListeningSockets): Steering {
  // In the kernel's order: a new socket comes last, and where one is closed the last one takes its place.
  const group: SocketNumber[] = [];
  let newest: SocketNumber | undefined;
  function lead(): boolean {
    if (newest === undefined) return false;
    const place = group.indexOf(newest);
    return place >= 0 && sockets.lead(newest, place);
  }
  return {
    enter(open) {
      const before = new Set(sockets.list());
      const opened = open();
      const own = sockets.list().find((socket) => !before.has(socket));
      newest = own;
      if (own === undefined) return notLed(opened);
      group.push(own);
      return {
        opened,
        led: lead(),
        left() {
          remove(group, own);
          // Since it was closed the kernel has chosen among the others, all of which answer.
          lead();
        },
      };
    },
  };
}

function remove(group: SocketNumber[], socket: SocketNumber): void {
  const place = group.indexOf(socket);
  const last = group.pop();
  if (last !== undefined && last !== socket) group[place] = last;
}

/** The sockets on which this process listens, as the kernel knows them. */
type ListeningSockets = {
  list(): readonly SocketNumber[];
  /**
   * Leads the new connections of the port that `socket` shares to the socket at that place, counted from 0, among those
   * that share it. Where there is none at that place, the kernel chooses. False when it is refused.
   */
  lead(socket: SocketNumber, place: number): boolean;
};

/** A file descriptor. */
type SocketNumber = number;

/** The part of Bun's foreign function interface that is used here. */
type Ffi = {
  dlopen(library: string, functions: typeof FUNCTIONS): { readonly symbols: Libc };
  ptr(memory: NodeJS.TypedArray): number;
};
type Libc = {
  getsockopt(socket: number, level: number, name: number, value: NodeJS.TypedArray, length: NodeJS.TypedArray): number;
  setsockopt(socket: number, level: number, name: number, value: NodeJS.TypedArray, length: number): number;
};

const FUNCTIONS = {
  getsockopt: { args: ["i32", "i32", "i32", "ptr", "ptr"], returns: "i32" },
  setsockopt: { args: ["i32", "i32", "i32", "ptr", "u32"], returns: "i32" },
} as const;

// From Linux's <asm-generic/socket.h> and <linux/bpf_common.h>.
const SOL_SOCKET = 1;
const SO_ACCEPTCONN = 30;
const SO_ATTACH_REUSEPORT_CBPF = 51;
const BPF_RET_CONSTANT = 0x06;

/** Only Linux can lead connections, and only Bun is asked to: null elsewhere. */
export function listeningSockets(): ListeningSockets | null {
  // Not an import, because Deno does not know the module.
  const ffi = process.platform === "linux" ? (process.getBuiltinModule("bun:ffi") as Ffi | undefined) : undefined;
  const libc = ffi && openLibc(ffi);
  if (!ffi || !libc) return null;
  return {
    list: () => descriptors().filter((descriptor) => isListening(libc, descriptor)),
    lead(socket, place) {
      const program = constantProgram(place);
      const value = new BigUint64Array([BigInt(program.length / 2), BigInt(ffi.ptr(program))]);
      return libc.setsockopt(socket, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, value, value.byteLength) === 0;
    },
  };
}

function openLibc({ dlopen }: Ffi): Libc | null {
  for (const library of LIBC_NAMES) {
    try {
      return dlopen(library, FUNCTIONS).symbols;
    } catch {
      // Another libc, or a system that denies it.
    }
  }
  return null;
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

/** A classic BPF program of one instruction, 8 bytes, which answers the same place for every connection. */
function constantProgram(place: number): Uint32Array {
  return new Uint32Array([BPF_RET_CONSTANT, place]);
}
