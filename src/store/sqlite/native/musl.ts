/** The same as in default.ts, for musl. */
export async function findNativePart(): Promise<string | null> {
  if (process.platform === "linux" && process.arch === "x64") {
    const file = import("../../../../node_modules/better-sqlite3/prebuilds/linuxmusl-x64.node", {
      with: { type: "file" },
    });
    return (await file).default;
  }
  if (process.platform === "linux" && process.arch === "arm64") {
    const file = import("../../../../node_modules/better-sqlite3/prebuilds/linuxmusl-arm64.node", {
      with: { type: "file" },
    });
    return (await file).default;
  }
  return null;
}
