import type { Fault } from "./fault.ts";

// Only Bun puts another function into a module that others have imported already.
const mock = "Bun" in globalThis ? (await import("bun:test")).mock : null;

/** Whether functions can be replaced here. */
export const CAN_PATCH = mock !== null;

/** Runs this while these functions are in the place of the real ones. */
export async function withPatched<T>(
  { module, patch }: Pick<Fault, "module" | "patch">,
  run: () => Promise<T>,
): Promise<T> {
  const path = new URL(`../../../src/${module}`, import.meta.url).pathname;
  const real = { ...(await import(path)) };
  mock?.module(path, () => ({ ...real, ...patch(real) }));
  try {
    return await run();
  } finally {
    mock?.module(path, () => real);
  }
}
