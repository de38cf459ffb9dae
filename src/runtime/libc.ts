import process from "node:process";

/** What the C library is called: glibc's, and musl's on the machines that Bun runs on. To be tried in this order. */
export const LIBC_NAMES = ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"];

/** Functions of the C library, by the types of what they take; each answers a whole number. `memory` is a typed array. */
export type Functions = Readonly<Record<string, readonly string[]>>;

/** Opens the C library for these functions, on Bun and on Deno. Null where it cannot be called. */
export function openLibc<Libc>(functions: Functions): Libc | null {
  const open = typeof Bun !== "undefined" ? openOnBun : openOnDeno;
  for (const name of LIBC_NAMES) {
    try {
      return open(name, functions) as Libc;
    } catch {
      // Another libc, or a system that denies it.
    }
  }
  return null;
}

type BunFfi = {
  dlopen(library: string, functions: Readonly<Record<string, object>>): { readonly symbols: unknown };
};

function openOnBun(library: string, functions: Functions): unknown {
  // Not an import, because Deno does not know the module.
  const ffi = process.getBuiltinModule("bun:ffi") as unknown as BunFfi;
  return ffi.dlopen(library, declare(functions, { key: "args", result: "returns", memory: "ptr" })).symbols;
}

/** The part of Deno that is used here. */
declare const Deno: BunFfi;

function openOnDeno(library: string, functions: Functions): unknown {
  return Deno.dlopen(library, declare(functions, { key: "parameters", result: "result", memory: "buffer" })).symbols;
}

/** How each runtime calls what it wants to know. */
type Dialect = { readonly key: string; readonly result: string; readonly memory: string };

function declare(functions: Functions, { key, result, memory }: Dialect): Record<string, object> {
  const entries = Object.entries(functions).map(([name, types]) => {
    const args = types.map((type) => (type === "memory" ? memory : type));
    return [name, { [key]: args, [result]: "i32" }] as const;
  });
  return Object.fromEntries(entries);
}
