import { spawn } from "node:child_process";
import process from "node:process";
import { type DatagramSockets, openDatagramSockets } from "./systemd-socket.ts";

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

const AF_UNIX = 1;
/** Bytes of a name, from Linux's <linux/un.h>. */
const LONGEST_NAME = 108;

/** A `struct sockaddr_un`, or why there is none. Exported for its test. */
export function toAddress(socket: string): Uint8Array | string {
  if (!/^[/@]./.test(socket)) return `cannot tell systemd how it is: NOTIFY_SOCKET=${socket} is no path and no @name`;
  // The name of an abstract socket begins with a zero and ends where the address does, a path ends with a zero.
  const name = Buffer.from(socket.startsWith("@") ? `\0${socket.slice(1)}` : `${socket}\0`);
  if (name.length > LONGEST_NAME) return `cannot tell systemd how it is: NOTIFY_SOCKET=${socket} is too long`;
  return Buffer.concat([new Uint8Array(new Uint16Array([AF_UNIX]).buffer), name]);
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
