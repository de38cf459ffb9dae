/**
 * The path of a URL as the server gives it, without a slash at its end. It is not parsed: a client may name a host that
 * no URL can have, and a URL object costs as much as a small request.
 */
export function pathOf(url: string): string {
  const start = url.indexOf("/", url.indexOf("://") + "://".length);
  const query = url.indexOf("?", start);
  const end = query < 0 ? url.length : query;
  return url.slice(start, url[end - 1] === "/" ? end - 1 : end);
}
