/** What a browser or mobile library has to know before it sends anything; without an answer it never does. */
export type SettingsInput = {
  readonly writeKey: string;
  readonly request: Request;
  /** Whether this daemon speaks TLS itself. */
  readonly secure: boolean;
  /** Whether the headers come from a trusted proxy. */
  readonly proxied: boolean;
};

/** With `apiHost` and `protocol` in it, a page has to be told of this server only once, by its `cdnURL`. */
export function makeSettings(input: SettingsInput): object {
  const { writeKey } = input;
  const api = { apiKey: writeKey, apiHost: `${hostOf(input)}/v1`, protocol: protocolOf(input) };
  return {
    integrations: { "Segment.io": api },
    plan: { track: { __default: { enabled: true } } },
    metrics: { sampleRate: 0 },
  };
}

/** Under the name by which the client knows it: that need not be one that this machine knows. */
function hostOf({ request, proxied }: SettingsInput): string {
  const forwarded = proxied ? request.headers.get("x-forwarded-host") : null;
  const host = first(forwarded) || request.headers.get("host") || "";
  return /^[\w.:[\]-]{1,255}$/.test(host) ? host : "localhost";
}

/**
 * A page that came by HTTPS may not send by HTTP, so that its request has come by HTTPS too, whatever stands between. Only
 * the page's own machine it may reach both ways.
 */
function protocolOf(input: SettingsInput): "http" | "https" {
  const { request, secure, proxied } = input;
  if (secure) return "https";
  const forwarded = proxied ? first(request.headers.get("x-forwarded-proto")) : "";
  if (forwarded !== "") return forwarded.toLowerCase() === "https" ? "https" : "http";
  const page = request.headers.get("origin") ?? request.headers.get("referer") ?? "";
  return page.startsWith("https://") && !isLoopback(hostOf(input)) ? "https" : "http";
}

function first(list: string | null): string {
  return (list ?? "").split(",", 1)[0]?.trim() ?? "";
}

function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[::1\])(:\d+)?$/i.test(host);
}
