import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { after } from "node:test";
import { type Browser, type BrowserContext, chromium as launcher } from "playwright-core";
import { PATIENT } from "../binary/waiting.ts";

/** The names under which the distributions have it. */
const NAMES = ["chromium", "chromium-browser", "google-chrome"];

const FLAGS = [
  ...["--headless", "--disable-gpu", "--disable-quic", "--no-first-run"],
  ...["--disable-background-networking", "--disable-component-update", "--disable-sync"],
  // No test is about whom Chromium trusts.
  "--ignore-certificate-errors",
  // Nothing but this machine is reached: a page that asks anyone else gets an error, which its test sees.
  "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE *.localhost, EXCLUDE 127.0.0.1",
];

/** What Playwright turns off for its own convenience, and what matters when a page is left. */
const NOT_THESE = ["--disable-back-forward-cache"];

/**
 * For a file of tests: the Chromium of this machine, started by the first one that asks for it and ended after the last,
 * however that ends. It has a profile of its own and leaves nothing behind. Rejects if there is none, and says how to
 * get one.
 */
export function useChromium(): () => Promise<Browser> {
  let starting: Promise<Chromium> | undefined;
  after(async () => (await starting?.catch(() => undefined))?.[Symbol.asyncDispose](), PATIENT);
  return async () => {
    starting ??= startChromium();
    return (await starting).browser;
  };
}

/** Disposing of it ends it and removes all that it has written. */
export type Chromium = AsyncDisposable & { readonly browser: Browser };

export async function startChromium(): Promise<Chromium> {
  const executablePath = findChromium();
  const folder = await mkdtemp(join(tmpdir(), "fairlead-browser-"));
  try {
    const context = await launch(executablePath, folder);
    return { browser: browserOf(context), [Symbol.asyncDispose]: () => end(folder, context) };
  } catch (error) {
    await end(folder);
    throw error;
  }
}

function findChromium(): string {
  const found = process.env.CHROMIUM || NAMES.map((name) => Bun.which(name)).find((path) => path !== null);
  if (found) return found;
  throw new Error(
    `no Chromium: ${NAMES.join(", ")} are not on the PATH. Install it (on Debian: apt install chromium), or set CHROMIUM to its path.`,
  );
}

/** Over pipes: a debugging port would be open to the machine, and on Bun a WebSocket's first message can be lost. */
function launch(executablePath: string, folder: string): Promise<BrowserContext> {
  return launcher.launchPersistentContext(join(folder, "profile"), {
    ...{ executablePath, args: FLAGS, ignoreDefaultArgs: NOT_THESE },
    // Chromium refuses to run as root with its sandbox.
    chromiumSandbox: process.getuid?.() !== 0,
    env: { PATH: process.env.PATH, HOME: folder, TMPDIR: folder },
  });
}

function browserOf(context: BrowserContext): Browser {
  const browser = context.browser();
  if (!browser) throw new Error("Playwright does not say which browser it has started");
  return browser;
}

async function end(folder: string, context?: BrowserContext): Promise<void> {
  await context?.close();
  await rm(folder, { recursive: true, force: true });
}
