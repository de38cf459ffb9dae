import type { ListeningSockets, SocketNumber } from "./listening-sockets.ts";

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
