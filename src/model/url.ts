/** A URL as it may be shown: a query may hold a token. */
export function withoutQuery(url: string): string {
  return url.replace(/[?#].*$/s, "");
}
