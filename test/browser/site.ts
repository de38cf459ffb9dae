import { fileURLToPath } from "node:url";
import type { AnalyticsBrowser } from "@segment/analytics-next";

const ENTRY = fileURLToPath(new URL("entry.ts", import.meta.url));

/** What a page gives to the client library. */
export type Load = Parameters<typeof AnalyticsBrowser.load>;

/** The library's default: each call leaves at once, in a request of its own. */
export const ONE_BY_ONE: Load[1] = {};

/** Calls leave in batches of that size, or with the page. */
export function makeBatching({ size }: { readonly size: number }): Load[1] {
  const config = { size, timeout: 600_000 };
  return { integrations: { "Segment.io": { deliveryStrategy: { strategy: "batching", config } } } };
}

/** A web site on a port from the system: another origin than Fairlead's. It has the same page at every path. */
export type Site = AsyncDisposable & {
  readonly port: number;
  /** From now on its pages load the client library, and so. */
  use(load: Load): Promise<void>;
  /** From now on its pages load this module, and have it as `fairlead`. */
  useModule(text: string): void;
};

export function startSite(): Site {
  let page = html("");
  let script = "";
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: answer });
  return {
    port: server.port ?? 0,
    async use(load) {
      script = await bundle();
      page = html(`<script>load = ${JSON.stringify(load)}</script><script src="/analytics.js"></script>`);
    },
    useModule(text) {
      script = text;
      page = html('<script type="module">globalThis.fairlead = await import("/analytics.js")</script>');
    },
    [Symbol.asyncDispose]: () => server.stop(true),
  };

  function answer({ url }: Request): Response {
    return url.endsWith("/analytics.js") ? content("text/javascript", script) : content("text/html", page);
  }
}

function html(scripts: string): string {
  // Without an icon of its own Chromium would ask for one.
  return `<!doctype html><title>Pricing</title><link rel="icon" href="data:,">${scripts}<a href="/next">Next</a>`;
}

let bundled: Promise<string> | undefined;

/** As a web site's own build does it. */
function bundle(): Promise<string> {
  bundled ??= Bun.build({ entrypoints: [ENTRY], target: "browser", minify: true }).then(
    ({ outputs: [output] }) => output?.text() ?? "",
  );
  return bundled;
}

function content(type: string, text: string): Response {
  return new Response(text, { headers: { "Content-Type": `${type}; charset=utf-8` } });
}
