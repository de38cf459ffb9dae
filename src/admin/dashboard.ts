import { Buffer } from "node:buffer";
import { gunzipSync } from "node:zlib";
import type { Hono } from "hono";
import { respondFault } from "../http/respond.ts";
import { fault } from "../model/fault.ts";
import { PAGE_PATHS } from "./pages.ts";
import type { AdminWorld } from "./world.ts";

/** What `make build` has made of `src/dashboard`: compressed, in Base64. `tag` differs when anything else does. */
export type BuiltPage = { readonly script: string; readonly style: string; readonly tag: string };

/**
 * Nothing from elsewhere, nothing inline, in nobody's frame. Trusted types keep text from ever being interpreted, whatever
 * an event contains.
 */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'none'; " +
  "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

const HEADERS = {
  "Content-Security-Policy": POLICY,
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Permissions-Policy": "clipboard-write=(self)",
};

const SHELL = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Fairlead</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="/dashboard/icon.svg">
<link rel="stylesheet" href="/dashboard/page.css">
<script defer src="/dashboard/page.js"></script>
</head>
<body>
<noscript>The dashboard needs JavaScript. Without it, use the command line: fairlead status.</noscript>
<div id="page"></div>
</body>
</html>
`;

/** A fairlead guides a line: a ring, and a line through it. */
const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#1257b8"/>\
<circle cx="16" cy="16" r="7" fill="none" stroke="#fff" stroke-width="3"/><path d="M2 16h28" stroke="#fff" stroke-width="3"/></svg>
`;

/** The dashboard's files. They hold nothing secret and need no token: the API does that they ask. */
export function serveDashboard(api: Hono, { admin }: Pick<AdminWorld, "admin">): void {
  api.get("/dashboard/:file", async ({ req }) => {
    if (!isOn()) return off();
    const file = req.param("file");
    if (file === "icon.svg") return answer(req.raw, { type: "image/svg+xml", tag: "icon", plain: ICON });
    const page = await loadPage();
    if (page === null) return respondFault(fault("not_found", UNBUILT));
    const { script, style, tag } = page;
    if (file === "page.js") return answer(req.raw, { type: "text/javascript; charset=utf-8", tag, packed: script });
    if (file === "page.css") return answer(req.raw, { type: "text/css; charset=utf-8", tag, packed: style });
    return respondFault(fault("not_found", "the dashboard has no such file"));
  });
  for (const path of PAGE_PATHS) {
    api.get(path, () => (isOn() ? html() : off()));
  }

  function isOn(): boolean {
    return admin().dashboard;
  }
}

const UNBUILT = "the dashboard is not built: run `make build`";

function off(): Response {
  return respondFault(fault("not_found", "the dashboard is off: admin.dashboard is false"));
}

function html(): Response {
  const headers = { "Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-cache" };
  return new Response(SHELL, { headers: Object.assign(headers, HEADERS) });
}

type File = { readonly type: string; readonly tag: string; readonly plain?: string; readonly packed?: string };

/** A file, or 304 if the browser has it. Its name stays the same, so the browser asks each time. */
function answer(request: Request, { type, tag, plain, packed = "" }: File): Response {
  const ETag = `"${tag}"`;
  const headers = new Headers({ "Content-Type": type, ETag, "Cache-Control": "no-cache", Vary: "Accept-Encoding" });
  for (const [name, value] of Object.entries(HEADERS)) headers.set(name, value);
  if (request.headers.get("if-none-match") === ETag) return new Response(null, { status: 304, headers });
  if (plain !== undefined) return new Response(plain, { headers });
  const bytes = Buffer.from(packed, "base64");
  if (!/\bgzip\b/.test(request.headers.get("accept-encoding") ?? "")) {
    return new Response(gunzipSync(bytes), { headers });
  }
  headers.set("Content-Encoding", "gzip");
  return new Response(bytes, { headers });
}

/** Loaded when it is first asked for: a daemon at which nobody looks has no memory of it. Null if it was not built. */
async function loadPage(): Promise<BuiltPage | null> {
  try {
    return (await import("../../dist/dashboard.js")).page;
  } catch {
    return null;
  }
}
