/**
 * Whether a request has more than one `Host` header, or a list in one: then nobody can say whom it is for. Deno's own
 * server refuses such a request (RFC 9112, 3.2); Bun's, and node's on Deno, join the headers with a comma.
 */
export function hasSecondHost(headers: Headers): boolean {
  return headers.get("host")?.includes(",") === true;
}

/** As Bun and Deno answer what breaks the rules of HTTP: bare, and the connection ends. */
export function badRequest(): Response {
  return new Response(null, { status: 400, headers: { Connection: "close" } });
}
