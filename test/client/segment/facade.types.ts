// Checked by the compiler alone (`tsc --noEmit`): each line after an `@ts-expect-error` must be an error.
import type {
  AliasParams,
  AnalyticsSettings,
  GroupParams,
  GroupTraits,
  HTTPClient,
  HTTPClientRequest,
  HTTPFetchFn,
  HTTPFetchRequest,
  HTTPResponse,
  IdentifyParams,
  PageParams,
  AnalyticsSettings as TheirSettings,
  TrackParams,
  UserTraits,
} from "@segment/analytics-node";
import type * as ours from "../../../src/client/segment/analytics.ts";
import Default, { Analytics, Context } from "../../../src/client/segment/analytics.ts";

/** Whatever a program has of the other library's types fits here. */
export function fits(analytics: Analytics, given: Given): void {
  analytics.identify(given.identify);
  analytics.track(given.track, (error, ctx) => void [error, ctx?.event.messageId]);
  analytics.page(given.page);
  analytics.screen(given.page);
  analytics.group(given.group);
  analytics.alias(given.alias);
  const traits: [ours.UserTraits, ours.GroupTraits] = [given.userTraits, given.groupTraits];
  const { oauthSettings, maxTotalBackoffDuration, maxRateLimitDuration, httpClient, ...settings } = given.settings;
  const kept: ours.AnalyticsSettings = settings;
  void [traits, new Default(kept), Context, httpClient];
  void [oauthSettings, maxTotalBackoffDuration, maxRateLimitDuration];
}

type Given = {
  identify: IdentifyParams;
  track: TrackParams;
  page: PageParams;
  group: GroupParams;
  alias: AliasParams;
  settings: TheirSettings;
  userTraits: UserTraits;
  groupTraits: GroupTraits;
};

/** An HTTP client that was written for the other library. */
export class Axios implements ours.HTTPClient {
  async makeRequest(request: HTTPClientRequest): Promise<HTTPResponse> {
    return { status: request.method === "POST" ? 200 : 405, statusText: "" };
  }
}
export const theirs: ours.HTTPClient = {} as HTTPClient;
export const fetcher: ours.HTTPFetchFn = {} as HTTPFetchFn;
export const asked: HTTPFetchRequest = {} as ours.HTTPFetchRequest;

export function refused(analytics: Analytics, settings: AnalyticsSettings): void {
  // @ts-expect-error: there are no plugins
  void analytics.register({ name: "enrich" });
  // @ts-expect-error: at least one id
  analytics.track({ event: "E" });
  // @ts-expect-error: no such event
  analytics.on("dispatch_start", () => {});
  // @ts-expect-error: the other library's settings may have OAuth in them
  void new Analytics(settings);
  // @ts-expect-error: it is host
  void new Analytics({ writeKey: "k", endpoint: "http://127.0.0.1:8080" });
}
