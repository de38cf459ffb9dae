import type { Config } from "../model/config.ts";

/** What a running daemon cannot change: another value counts after the next start. */
const FIXED: Readonly<Record<string, (config: Config) => unknown>> = {
  "ingest.listen": (config) => config.ingest.listen,
  "ingest.tls": (config) => config.ingest.tls !== null,
  "admin.listen": (config) => config.admin.listen,
  "outbox.path": (config) => config.outbox.path,
};

/** The keys that a running daemon cannot change; of `ingest.tls`, only whether there is one. */
export const FIXED_KEYS: readonly string[] = Object.keys(FIXED);

/** The keys of which `next` says something else than what the daemon was started with. */
export function keysForRestart(old: Config, next: Config): readonly string[] {
  return Object.keys(FIXED).filter((key) => JSON.stringify(FIXED[key]?.(old)) !== JSON.stringify(FIXED[key]?.(next)));
}

/** The next config, as far as a running daemon can work by it. */
export function withFixedKeys(old: Config, next: Config): Config {
  const { listen, tls } = old.ingest;
  const isSameKind = (tls === null) === (next.ingest.tls === null);
  // A listener that stays where the world reaches it must not lose its token.
  const token = next.admin.token ?? (isSame(old.admin.listen, next.admin.listen) ? null : old.admin.token);
  return {
    ...next,
    ingest: { ...next.ingest, listen, tls: isSameKind ? next.ingest.tls : tls },
    admin: { listen: old.admin.listen, token },
    outbox: { ...next.outbox, path: old.outbox.path },
  };
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
