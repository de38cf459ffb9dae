/** A URL without its query, which may hold a token. */
export function withoutQuery(url: string): string {
  return url.replace(/[?#].*$/s, "");
}
