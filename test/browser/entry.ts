// The script of the site's pages: the client library as it comes from npm, loaded as the site says.
import { AnalyticsBrowser } from "@segment/analytics-next";

declare const load: Parameters<typeof AnalyticsBrowser.load>;

Object.assign(globalThis, { analytics: AnalyticsBrowser.load(...load) });
