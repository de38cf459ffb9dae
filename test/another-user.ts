import process from "node:process";

const IS_ROOT = process.geteuid?.() === 0;

/** Why root must not become another user, or false. Deno's test files are threads of one process, and all would change user. */
export const KEEPS_USER = IS_ROOT && "Deno" in globalThis && "the other test files would become that user as well";
/** Why a test that needs another user is skipped, or false. */
export const NO_OTHER_USER = IS_ROOT ? KEEPS_USER : "only root can become another user";

/** File modes do not hold root back, so root does this as `nobody`. */
export function asOrdinaryUser<T>(run: () => T): T {
  if (!IS_ROOT) return run();
  process.seteuid?.(65_534);
  try {
    return run();
  } finally {
    process.seteuid?.(0);
  }
}
