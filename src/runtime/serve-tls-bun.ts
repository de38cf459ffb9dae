import type { Tls } from "../model/config.ts";
import { type Ms, SECOND } from "../model/units.ts";
import { listeningSockets } from "./listening-sockets.ts";
import type { Answering, TcpListen, TlsAnswering, TlsServer } from "./serve.ts";
import { type BunServer, IDLE_SECONDS, startOnBun } from "./serve-bun.ts";
import { createSteering, type Entered, type Steering } from "./steering.ts";

export type RenewOptions = {
  readonly steering?: Steering;
  /** How long a server stays after it was replaced. */
  readonly leaveAfter?: Ms;
  /** How many servers that were replaced may be there at once. A config is looked at every two seconds. */
  readonly mostLeaving?: number;
};

/** Longer than an idle connection lives. */
const LEAVE_AFTER = IDLE_SECONDS * SECOND + 30 * SECOND;

/**
 * Starts HTTPS on Bun, whose server keeps the certificate that it was opened with. Another certificate is therefore served
 * by another server on the same port. A server is
 *
 * - current, from when it is opened until a newer one is: it takes all new connections (see steering.ts).
 * - leaving: it takes none, and each answer ends its connection. Those on which nothing comes end by being idle, so that
 *   there are none left to be cut off when it is finished.
 * - finishing, after `leaveAfter`, or earlier when too many are leaving or everything stops: its idle connections are
 *   closed, and it is gone when its running requests are answered.
 *
 * Where connections cannot be led, a server finishes as soon as it is replaced. Connections that it has not yet taken are
 * then reset, unless net.ipv4.tcp_migrate_req is 1.
 *
 * Throws when the address cannot be had.
 */
export function startTlsOnBun(listen: TcpListen, answering: TlsAnswering, options: RenewOptions = {}): TlsServer {
  const { steering = createSteering(listeningSockets()), leaveAfter = LEAVE_AFTER, mostLeaving = 100 } = options;
  const place = { ...listen, port: findPort(listen, answering) };
  const leaving = new Set<Member>();
  function open(tls: Tls): Member {
    const entered = steering.enter(() => startOnBun(place, { ...answering, tls }));
    const member = toMember(entered, { leaveAfter, gone: () => leaving.delete(member) });
    return member;
  }
  let current = open(answering.tls);
  return {
    port: place.port,
    renew(tls) {
      const replaced = current;
      current = open(tls);
      leaving.add(replaced);
      replaced.leave(current.led);
      const [oldest] = leaving;
      if (leaving.size > mostLeaving) void oldest?.finish();
    },
    async finish() {
      await Promise.all([current, ...leaving].map((member) => member.finish()));
    },
    cut() {
      for (const member of [current, ...leaving]) member.cut();
    },
  };
}

/** A port that nobody else listens on: one that is shared could be shared with a stranger too, unnoticed. */
function findPort(listen: TcpListen, { handle, failed }: Answering): number {
  const alone = startOnBun(listen, { handle, failed });
  alone.cut();
  return alone.port;
}

type Member = {
  readonly led: boolean;
  /** `led`: whether new connections are led to another one by now. */
  leave(led: boolean): void;
  /** Never rejects. */
  finish(): Promise<void>;
  cut(): void;
};
type Leaving = { readonly leaveAfter: Ms; readonly gone: () => void };

function toMember({ opened: server, led, left }: Entered<BunServer>, { leaveAfter, gone }: Leaving): Member {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let finished: Promise<void> | null = null;
  async function finish(): Promise<void> {
    clearTimeout(timer);
    const finishing = server.finish();
    left();
    await finishing;
    gone();
  }
  const member = {
    led,
    leave(led: boolean) {
      server.retire();
      if (led) timer = setTimeout(() => void member.finish(), leaveAfter);
      else void member.finish();
    },
    finish() {
      finished ??= finish();
      return finished;
    },
    cut: server.cut,
  };
  return member;
}
