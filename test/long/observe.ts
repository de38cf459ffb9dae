import { setTimeout as wait } from "node:timers/promises";
import { PATIENCE } from "../binary/waiting.ts";
import type { Daemon } from "../binary/world.ts";

/** Asks again and again, as who waits for something outside of this process has to. */
export async function eventually<T>(what: string, ask: () => T | null | Promise<T | null>): Promise<T> {
  const until = Date.now() + PATIENCE;
  while (Date.now() < until) {
    const answer = await ask();
    if (answer !== null) return answer;
    await wait(100);
  }
  throw new Error(`after ${PATIENCE / 1_000} s still not: ${what}`);
}

/** Asks the operator's API, wherever it listens. */
export function ask({ admin }: Pick<Daemon, "admin">, path: string): Promise<Response> {
  const [, unix] = /^unix:(.*)$/.exec(admin) ?? [];
  return unix === undefined ? fetch(`${admin}${path}`) : fetch(`http://localhost${path}`, { unix });
}

export async function metric(daemon: Daemon, series: string): Promise<number | null> {
  const text = await (await ask(daemon, "/metrics")).text();
  const line = text.split("\n").find((one) => one.startsWith(`${series} `));
  return line === undefined ? null : Number(line.slice(series.length + 1));
}

/** What `/readyz` says. */
export async function ready(daemon: Daemon): Promise<readonly [status: number, code: string | undefined]> {
  const response = await ask(daemon, "/readyz");
  return [response.status, ((await response.json()) as { code?: string }).code];
}

export type DestinationStatus = {
  readonly state: string;
  readonly counts: Readonly<Record<"waiting" | "delivered" | "failed" | "expired", number>>;
  /** In milliseconds. */
  readonly oldestWaiting: number | null;
  readonly lastError: { readonly reason: string } | null;
};

/** How the one destination is, as `fairlead status` says. */
export async function statusOf(daemon: Daemon): Promise<DestinationStatus> {
  const { destinations } = (await (await ask(daemon, "/api/status")).json()) as { destinations: DestinationStatus[] };
  const [crm] = destinations;
  if (!crm) throw new Error("the status names no destination");
  return crm;
}

/** Resolves when nothing waits any more, and what became of it is in the outbox. */
export function settled(daemon: Daemon): Promise<true> {
  return eventually("nothing waits", async () => ((await statusOf(daemon)).counts.waiting === 0 ? true : null));
}
