import { isIP } from "node:net";
import { type Ms, SECOND } from "../model/units.ts";
import { isOffline } from "./failure.ts";

/**
 * A name server that answers at all does so within this time, also over a slow line and if nobody remembers its answers. With
 * less patience a receiver that hangs would count as no network, and what waits for it would never be given up. The system
 * asks one that is silent for five seconds.
 */
const PATIENCE: Ms = 2 * SECOND;

/** Looks a name up. Rejects, with a code, if that cannot be done. */
export type FindName = (name: string) => Promise<unknown>;

/**
 * Tells whether a POST that had no answer in its time was still waiting for a name server then: it never left this machine.
 * The runtimes do not say what they waited for, and the system asks silent name servers for longer than a receiver may take.
 */
export function createIsUnresolved(find: FindName, patience: Ms = PATIENCE): (host: string) => Promise<boolean> {
  // What waits for one name mostly does so in crowds.
  const asked = new Map<string, Promise<boolean>>();
  return function isUnresolved(host) {
    if (isIP(host.replace(/^\[|\]$/g, "")) !== 0) return Promise.resolve(false);
    const known = asked.get(host);
    if (known) return known;
    const answer = ask(host).finally(() => asked.delete(host));
    asked.set(host, answer);
    return answer;
  };

  function ask(host: string): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(true), patience);
      const found = (unresolved: boolean): void => {
        clearTimeout(timer);
        resolve(unresolved);
      };
      find(host).then(
        () => found(false),
        (error: unknown) => found(error instanceof Error && "code" in error && isOffline(String(error.code))),
      );
    });
  }
}

/** By the system's own resolver, as `fetch` does: it takes notice when its configuration changes. */
export const isUnresolved = createIsUnresolved(async (name) => {
  if (typeof Bun !== "undefined") return Bun.dns.lookup(name, { backend: "libc" });
  const { lookup } = await import("node:dns/promises");
  return lookup(name);
});
