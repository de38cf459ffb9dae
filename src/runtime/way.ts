import type { WebhookTls } from "../model/destination.ts";

/** Where a POST was meant to go: with it, words name the host, and say what the operator can do. */
export type Way = {
  readonly url: string;
  readonly tls: WebhookTls | null;
  /** What it goes through, as `host:port`. */
  readonly proxy: string | null;
};

export function hostOf({ url }: Way): string {
  return new URL(url).hostname;
}

/** Whose address has to be known: the receiver's, or that of the proxy before it. */
export function nextHostOf({ url, proxy }: Way): string {
  return proxy === null ? new URL(url).hostname : (URL.parse(`http://${proxy}`)?.hostname ?? proxy);
}
