/** What the client needs of the page that it is in. Tests bring a page of their own. */
import type { World } from "../platform.ts";

export type Page = Pick<World, "wall" | "after" | "fraction" | "uuid" | "fetch" | "log"> & {
  /** Where the page itself came from. */
  origin(): string;
  /** Hands a body to the browser, which sends it even when the page is gone. False if it does not take it. */
  beacon(url: string, body: string): boolean;
  /** Runs each time that the page may be about to go: when it is hidden, and when it is left. */
  onLeaving(run: () => void): void;
};

type Listening = { addEventListener(type: string, run: () => void): void };

/** The part of the browser that is used. The library's types must compile without those of the DOM. */
type Browser = Listening & {
  readonly document: Listening & { readonly visibilityState: string };
  readonly navigator: { sendBeacon?(url: string, body: string): boolean };
  readonly location: { readonly origin: string };
  readonly localStorage: { getItem(name: string): string | null; setItem(name: string, value: string): void };
};

const browser = globalThis as unknown as Browser;

export const page: Page = {
  wall: () => Date.now(),
  after(ms, run) {
    // One that is longer than a timer can hold would pass at once.
    const timer = setTimeout(run, Math.min(ms, 2 ** 31 - 1));
    return () => clearTimeout(timer);
  },
  fraction: () => Math.random(),
  uuid,
  fetch: (url, init) => globalThis.fetch(url, init),
  log: (line) => console.error(line),
  origin: () => browser.location.origin,
  beacon: (url, body) => browser.navigator.sendBeacon?.(url, body) ?? false,
  onLeaving(run) {
    // On phones a page that was hidden may never hear that it ends.
    browser.document.addEventListener("visibilitychange", () => {
      if (browser.document.visibilityState === "hidden") run();
    });
    browser.addEventListener("pagehide", run);
  },
};

/** A page that did not come by HTTPS has no `randomUUID`. */
function uuid(): string {
  if (crypto.randomUUID) return crypto.randomUUID();
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

const STORED = "fairlead-anonymous-id";
let unstored = "";

/** An id for this visitor, the same on all pages of the site; only on this one if the browser stores nothing. */
export function anonymousId(): string {
  try {
    const known = browser.localStorage.getItem(STORED);
    if (known) return known;
    unstored ||= uuid();
    browser.localStorage.setItem(STORED, unstored);
  } catch {
    // The visitor does not allow it, or the storage is full.
    unstored ||= uuid();
  }
  return unstored;
}
