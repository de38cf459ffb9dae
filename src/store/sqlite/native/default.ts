/**
 * Where the native part is in a compiled binary, for glibc and macOS; null where there is none. The compiler puts the files that
 * it sees here into the binary: it replaces `process.platform` and `process.arch` by the target's and drops the other branches.
 * The C library is no constant: package.json maps the name of this module to musl's under the condition `musl`.
 */
export async function findNativePart(): Promise<string | null> {
  if (process.platform === "linux" && process.arch === "x64") {
    const file = import("../../../../node_modules/better-sqlite3/prebuilds/linux-x64.node", { with: { type: "file" } });
    return (await file).default;
  }
  if (process.platform === "linux" && process.arch === "arm64") {
    const file = import("../../../../node_modules/better-sqlite3/prebuilds/linux-arm64.node", {
      with: { type: "file" },
    });
    return (await file).default;
  }
  if (process.platform === "darwin" && process.arch === "x64") {
    const file = import("../../../../node_modules/better-sqlite3/prebuilds/darwin-x64.node", {
      with: { type: "file" },
    });
    return (await file).default;
  }
  if (process.platform === "darwin" && process.arch === "arm64") {
    const file = import("../../../../node_modules/better-sqlite3/prebuilds/darwin-arm64.node", {
      with: { type: "file" },
    });
    return (await file).default;
  }
  return null;
}
