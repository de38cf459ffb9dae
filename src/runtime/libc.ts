import process from "node:process";

/** The names of the C library: glibc's, and musl's on the machines that Bun runs on. Tried in this order. */
const LIBC_NAMES = ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"];

/** Functions of the C library with the types of their arguments; each returns an `i32`. `memory` is a typed array. */
type Functions = Readonly<Record<string, readonly string[]>>;

/** Opens the C library for these functions, on Bun and on Deno. Null where it cannot be called. */
export function openLibc<Libc>(functions: Functions): Libc | null {
  const open = typeof Bun !== "undefined" ? openOnBun : openOnDeno;
  for (const name of LIBC_NAMES) {
    try {
      return open(name, functions) as Libc;
    } catch {
      // Another libc, or the system denies it.
    }
  }
  return null;
}

type Ffi = { dlopen(library: string, functions: Readonly<Record<string, object>>): { readonly symbols: unknown } };

function openOnBun(library: string, functions: Functions): unknown {
  // Not an import, because Deno does not know the module.
  const ffi = process.getBuiltinModule("bun:ffi") as unknown as Ffi;
  const declared = mapTypes(functions, "ptr", (args) => ({ args, returns: "i32" }));
  return ffi.dlopen(library, declared).symbols;
}

/** The part of Deno that is used here. */
declare const Deno: Ffi;

function openOnDeno(library: string, functions: Functions): unknown {
  const declared = mapTypes(functions, "buffer", (parameters) => ({ parameters, result: "i32" }));
  return Deno.dlopen(library, declared).symbols;
}

/** `memory`: what the runtime calls a typed array. */
function mapTypes(functions: Functions, memory: string, declare: (types: readonly string[]) => object) {
  const entries = Object.entries(functions).map(([name, types]) => {
    return [name, declare(types.map((type) => (type === "memory" ? memory : type)))] as const;
  });
  return Object.fromEntries(entries);
}
