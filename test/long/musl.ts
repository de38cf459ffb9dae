import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const LOADER = "/lib/ld-musl-x86_64.so.1";
/** What Alpine has in its package libstdc++, and no Debian for musl. */
const LIBRARIES = ["libstdc++.so.6", "libgcc_s.so.1"];
const HERE = "/usr/lib/x86_64-linux-gnu";
/** Since GCC 13, as better-sqlite3's part for musl wants it. */
const NEWEST_SYMBOL = "GLIBCXX_3.4.31";

/**
 * A program that runs a binary for musl with musl's own loader and C library. Its C++ library is that of Debian, which is made for
 * glibc: a shim has the few functions that musl lacks. Answers why it cannot be made, where it cannot.
 */
export function makeMuslRunner(
  folder: string,
  binary: string,
): { readonly program: string } | { readonly why: string } {
  if (!existsSync(LOADER)) return { why: "there is no musl on this machine (apt install musl)" };
  const lib = join(folder, "lib");
  mkdirSync(lib);
  const from = readFileSync(join(HERE, "libstdc++.so.6")).includes(NEWEST_SYMBOL)
    ? HERE
    : fetchPackages(folder, ["libstdc++6", "libgcc-s1"], "usr/lib/x86_64-linux-gnu");
  if (from === null) return { why: "libstdc++ of GCC 13 or later could not be fetched from Debian" };
  for (const name of LIBRARIES) copyFileSync(join(from, name), join(lib, name));
  symlinkSync(LOADER, join(lib, "libc.musl-x86_64.so.1"));
  const args = ["-shared", "-nostdlib", "-fPIC", "-O1", "-fno-builtin", "-w", "-x", "c", "-"];
  for (const [name, source] of [["libshim.so", SHIM] as const, ["ld-linux-x86-64.so.2", "int nothing;"] as const]) {
    const { error, status } = spawnSync("gcc", [...args, "-o", join(lib, name)], { input: source });
    if (error || status !== 0) return { why: "there is no gcc on this machine (apt install gcc)" };
  }
  const program = join(folder, "run");
  const script = `#!/bin/sh\nLD_LIBRARY_PATH=${lib} LD_PRELOAD=${lib}/libshim.so exec ${binary} "$@"\n`;
  writeFileSync(program, script, { mode: 0o755 });
  return { program };
}

/**
 * Unpacks packages of the next Debian, without changing what apt knows of this machine. Answers where a folder of them is then; null
 * if that is out of reach.
 */
export function fetchPackages(folder: string, packages: readonly string[], wanted: string): string | null {
  const place = join(folder, "apt");
  mkdirSync(join(place, "lists/partial"), { recursive: true });
  mkdirSync(join(place, "archives/partial"), { recursive: true });
  writeFileSync(join(place, "sources.list"), SOURCE);
  const options = [
    ...[`Dir::Etc::sourcelist=${place}/sources.list`, "Dir::Etc::sourceparts=/dev/null"],
    ...[`Dir::State::lists=${place}/lists`, `Dir::Cache=${place}`, "APT::Sandbox::User=root"],
  ].flatMap((option) => ["-o", option]);
  const commands = [
    ["apt-get", ...options, "update"],
    ["apt-get", ...options, "download", ...packages],
    ["sh", "-c", "for deb in *.deb; do dpkg-deb --extract $deb root; done"],
  ];
  for (const [program = "", ...args] of commands) {
    const { status } = spawnSync(program, args, { cwd: place });
    if (status !== 0) return null;
  }
  return join(place, "root", wanted);
}

const SOURCE =
  "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian trixie main\n";

/** Only what is there to be found; who would really call the last three gets an error. */
const SHIM = `
typedef unsigned long size_t;
struct tm;
size_t strftime_l(char *, size_t, const char *, const struct tm *, void *);
size_t __strftime_l(char *a, size_t b, const char *c, const struct tm *d, void *e) { return strftime_l(a, b, c, d, e); }
unsigned long strtoul(const char *, char **, int);
unsigned long __isoc23_strtoul(const char *a, char **b, int c) { return strtoul(a, b, c); }
long getrandom(void *, size_t, unsigned);
unsigned arc4random(void) { unsigned value; getrandom(&value, sizeof value, 0); return value; }
char __libc_single_threaded = 0;
unsigned __cpu_model[4];
int __cpu_indicator_init(void) { return 0; }
int __cxa_thread_atexit_impl(void (*f)(void *), void *a, void *b) { return 0; }
int _dl_find_object(void *pc, void *found) { return -1; }
int strfromf128(char *a, size_t b, const char *c, ...) { return -1; }
int strtof128(const char *a, char **b) { return 0; }
`;
