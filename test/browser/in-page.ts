/** What runs in a page: Playwright takes its text there, so it refers to nothing of this file. */

export type Question = {
  readonly url: string;
  readonly method: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly credentials?: "include";
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
