/** A machine that a release is for, and what goes into its binary. */
export type Target = {
  /** As the tarball is called. */
  readonly name: string;
  /** The package of npm that holds Bun for it. */
  readonly runtime: string;
  /** The SHA-512 of that package, as npm states it. */
  readonly integrity: string;
  /** better-sqlite3's native part for it. */
  readonly sqlite: string;
  readonly system: "linux" | "darwin";
  /** The C library that Linux has there. */
  readonly libc?: "glibc" | "musl";
  /** What Debian and container images call it, if they are made for it. */
  readonly debian?: "amd64" | "arm64";
  /** What RPM calls it. */
  readonly rpm?: "x86_64" | "aarch64";
};

/** The Bun whose packages are pinned below. A binary is made by the same version as is in it: they have a format in common. */
export const BUN_VERSION = "1.4.5";

export const TARGETS: readonly Target[] = [
  {
    name: "linux-x64",
    runtime: "@oven/bun-linux-x64",
    integrity: "sha512-IWX9BELoGHAUtMonkeSaNaZwXzRk+oDw6Mk+HBFXd3KHYIBNBsIGRupMZPcgNoDbJpLu6gAJjIoIVPZtt1aJ1g==",
    sqlite: "linux-x64",
    system: "linux",
    libc: "glibc",
    debian: "amd64",
    rpm: "x86_64",
  },
  {
    // For older CPUs, without AVX2. In this version of Bun the same program as the one above, which looks what there is.
    name: "linux-x64-baseline",
    runtime: "@oven/bun-linux-x64-baseline",
    integrity: "sha512-s8yMwYcFnnrA178gji0gZbkE2WVDej/Ti1x770oPfihxyRxSMNhGhiAQNXV53aDeraZxksdvKV/RAdQBCd0qPA==",
    sqlite: "linux-x64",
    system: "linux",
    libc: "glibc",
  },
  {
    name: "linux-arm64",
    runtime: "@oven/bun-linux-aarch64",
    integrity: "sha512-4BXmsSKnjOrlGWqZV4x/oWa7AVoR+B6lCXddMzOAXBIm3t50eslg9wb66gmtW1AamEQ1l1CDvmmruysEhqOWMg==",
    sqlite: "linux-arm64",
    system: "linux",
    libc: "glibc",
    debian: "arm64",
    rpm: "aarch64",
  },
  {
    name: "linux-x64-musl",
    runtime: "@oven/bun-linux-x64-musl",
    integrity: "sha512-10QoW/YfTgnURaGEaHpJCiXjLI2e5iTtfVDaA5JKcyUzaa1cq6cVUY9/Uq5XkYzvtRjHLRe9Oj/lTDIQcxy8HQ==",
    sqlite: "linuxmusl-x64",
    system: "linux",
    libc: "musl",
  },
  {
    name: "linux-arm64-musl",
    runtime: "@oven/bun-linux-aarch64-musl",
    integrity: "sha512-XCNc+WvvMAdNNb+OWTogpy+N9wm62fkVeEVLb6how0RZhW5LPi6c7BlkeVCuWps7XjEl2saFpHFa20/1E+PAHg==",
    sqlite: "linuxmusl-arm64",
    system: "linux",
    libc: "musl",
  },
  {
    name: "darwin-x64",
    runtime: "@oven/bun-darwin-x64",
    integrity: "sha512-qkLPMGHZM9NI6CeHTWwVezzmlo6cC4Ta7yUAjYIWXS366qQcOlcp75t2uZyiuVRBMPS0h9qE0tCcvCHGaFqjJg==",
    sqlite: "darwin-x64",
    system: "darwin",
  },
  {
    name: "darwin-arm64",
    runtime: "@oven/bun-darwin-aarch64",
    integrity: "sha512-4MIFXHmctH2EhAxLXm2/qxNtv17dFtLJylvaOCsrgq6KSqHTs6eW5YSrJjRbJxYUJaR901fsN8JfZOa+CsWpWQ==",
    sqlite: "darwin-arm64",
    system: "darwin",
  },
];

/** All if none is named. Throws at a name that none has. */
export function targetsNamed(names: readonly string[]): readonly Target[] {
  const unknown = names.filter((name) => !TARGETS.some((target) => target.name === name));
  if (unknown.length > 0)
    throw new Error(`there is no target ${unknown[0]}: ${TARGETS.map(({ name }) => name).join(", ")}`);
  return TARGETS.filter(({ name }) => names.length === 0 || names.includes(name));
}

/** Those that a kind of package is made for, by its names for them; all if none is named. Throws at a name that none has. */
export function architecturesNamed(names: readonly string[], kind: "debian" | "rpm" = "debian"): readonly Target[] {
  const known = TARGETS.filter((target) => target[kind] !== undefined);
  const unknown = names.find((name) => !known.some((target) => target[kind] === name));
  if (unknown !== undefined)
    throw new Error(`there is no architecture ${unknown}: ${known.map((target) => target[kind]).join(", ")}`);
  return known.filter((target) => names.length === 0 || names.includes(target[kind] ?? ""));
}
