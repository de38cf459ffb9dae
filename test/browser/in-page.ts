/** What runs in a page: Playwright takes its text there, so it refers to nothing of this file. */

export type Question = {
  readonly url: string;
  readonly method: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly credentials?: "include";
  readonly mode?: "no-cors";
  readonly keepalive?: boolean;
};

/** What a script can read: of an answer without CORS headers, that there was an error. */
export type Readable = { readonly status: number; readonly text: string; readonly retryAfter: string | null } | string;

/** Sends a request as any script of the page can. */
export async function ask({ url, ...init }: Question): Promise<Readable> {
  try {
    const response = await fetch(url, init);
    return { status: response.status, text: await response.text(), retryAfter: response.headers.get("retry-after") };
  } catch (error) {
    return String(error);
  }
}

declare const navigator: { sendBeacon(url: string, data: string | Blob): boolean };

export type Beacon = { readonly url: string; readonly text: string; readonly type: string | null };

/** Has the browser send something by itself; without a type as plain text. */
export function sendBeacon({ url, text, type }: Beacon): boolean {
  return navigator.sendBeacon(url, type === null ? text : new Blob([text], { type }));
}

declare function addEventListener(type: "pagehide", listener: () => void): void;

/** The same at the last moment: when the page is left. */
export function sendBeaconOnLeaving({ url, text, type }: Beacon): void {
  addEventListener("pagehide", () => navigator.sendBeacon(url, type === null ? text : new Blob([text], { type })));
}

type Violation = { readonly effectiveDirective: string; readonly blockedURI: string; readonly sample: string };
declare function addEventListener(type: "securitypolicyviolation", listener: (violation: Violation) => void): void;

/** Has violations of the page's policy counted as errors of it. */
export function reportViolations(): void {
  addEventListener("securitypolicyviolation", ({ effectiveDirective, blockedURI, sample }) => {
    console.error(`violation of ${effectiveDirective}: ${blockedURI} ${sample}`);
  });
}

type Shown = { readonly tagName: string; readonly textContent: string };

declare const document: EventTarget & {
  readonly body: { innerHTML: string; append(one: object): void };
  querySelectorAll(selector: "*"): { readonly length: number };
  querySelector(selector: "main"): Shown | null;
  querySelectorAll(selector: "canvas"): Iterable<Canvas>;
  createElement(name: "iframe"): EventTarget & { src: string };
  readonly activeElement: Shown | null;
  readonly documentElement: { readonly scrollWidth: number };
};

/** Whether the tab is in front, as far as the page can tell: Playwright keeps every page in front. */
export function setHidden(isHidden: boolean): void {
  Object.defineProperty(document, "hidden", { configurable: true, get: () => isHidden });
  document.dispatchEvent(new Event("visibilitychange"));
}

/** What becomes of text that is given to the browser as markup. */
export function tryMarkup(): string {
  try {
    document.body.innerHTML = "<p>markup</p>";
    return "taken";
  } catch (error) {
    return String(error);
  }
}

/** What has the focus, as `H1 Overview`. */
export function focused(): string {
  const { tagName, textContent } = document.activeElement ?? { tagName: "nothing", textContent: "" };
  return `${tagName} ${textContent}`;
}

type Entry = { readonly name: string; readonly startTime: number; readonly transferSize?: number };
declare const performance: { getEntries(): readonly Entry[] };

/** What the browser has got for the page so far, with headers, and after how many ms it showed something. */
export function fetched(): { readonly bytes: number; readonly firstPaint: number } {
  const entries = performance.getEntries();
  const bytes = entries.reduce((sum, { transferSize = 0 }) => sum + transferSize, 0);
  const painted = entries.find(({ name }) => name === "first-contentful-paint");
  return { bytes, firstPaint: Math.round(painted?.startTime ?? Number.NaN) };
}

/** Puts another page into this one, and waits for what the browser makes of it. */
export function frame(url: string): Promise<void> {
  const made = document.createElement("iframe");
  const loaded = new Promise<void>((resolve) => made.addEventListener("load", () => resolve()));
  made.src = url;
  document.body.append(made);
  return loaded;
}

/** How wide the page is, with what sticks out of its window. */
export function contentWidth(): number {
  return document.documentElement.scrollWidth;
}

/** How much there is on the page. */
export function elementCount(): number {
  return document.querySelectorAll("*").length;
}

type Pixels = { readonly data: Iterable<number> };
type Canvas = {
  readonly width: number;
  readonly height: number;
  getContext(kind: "2d"): { getImageData(left: number, top: number, width: number, height: number): Pixels };
};

/** Whether there is a chart, and each has something on it. */
export function isDrawn(): boolean {
  const charts = [...document.querySelectorAll("canvas")];
  const isBlank = (chart: Canvas): boolean =>
    [...chart.getContext("2d").getImageData(0, 0, chart.width, chart.height).data].every((value) => value === 0);
  return charts.length > 0 && !charts.some(isBlank);
}

type Tasks = { getEntries(): readonly { readonly duration: number }[] };
declare const PerformanceObserver: new (
  heard: (tasks: Tasks) => void,
) => { observe(what: { readonly type: "longtask"; readonly buffered: boolean }): void };

/** Notes in the page how long each of its tasks took that held it up, in ms. */
export function longTasks(): void {
  const noted: number[] = [];
  Object.assign(globalThis, { longTasks: noted });
  const observer = new PerformanceObserver((tasks) => {
    for (const { duration } of tasks.getEntries()) noted.push(Math.round(duration));
  });
  observer.observe({ type: "longtask", buffered: true });
}

/** Whether the live screen says of so many events that they were accepted, and shows them or says that it does not. */
export function hasAccountedFor(events: number): boolean {
  const text = document.querySelector("main")?.textContent ?? "";
  const said = [/([\d,]+) accepted/, /([\d,]+) not shown/].map((pattern) => pattern.exec(text)?.[1] ?? "0");
  const [accepted = 0, unseen = 0] = said.map((number) => Number(number.replaceAll(",", "")));
  return unseen > 0 && accepted + unseen === events;
}
