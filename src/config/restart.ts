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
  // While the operator's listener stays where it was, so does the rule of who may talk to it.
  const isSameAdmin = JSON.stringify(old.admin.listen) === JSON.stringify(next.admin.listen);
  return {
    ...next,
    ingest: { ...next.ingest, listen, tls: isSameKind ? next.ingest.tls : tls },
    admin: isSameAdmin ? next.admin : old.admin,
    outbox: { ...next.outbox, path: old.outbox.path },
  };
}
