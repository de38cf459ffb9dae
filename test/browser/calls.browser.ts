import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AnalyticsBrowser } from "@segment/analytics-next";
import type { Hook } from "../binary/receiver.ts";
import { PATIENT } from "../binary/waiting.ts";
import { makeConfig } from "../binary/world.ts";
import { fixture } from "../runtime/tls.ts";
import { useChromium } from "./chromium.ts";
import { makeBatching, ONE_BY_ONE } from "./site.ts";
import { setStage } from "./stage.ts";
import type { Visitor } from "./visitor.ts";

/** The page's: what refers to it runs there. */
declare const analytics: AnalyticsBrowser;

const CALLS = ["alias", "group", "identify", "page", "screen", "track"];

const browser = useChromium();

describe("analytics-next, of which only the cdnURL was changed", () => {
  for (const [how, load, paths] of [
    ["one by one", ONE_BY_ONE, ["/v1/a", "/v1/g", "/v1/i", "/v1/p", "/v1/s", "/v1/t"]],
    ["as a batch", makeBatching({ size: CALLS.length }), ["/v1/b"]],
  ] as const) {
    it(`delivers calls of all six kinds, ${how}`, PATIENT, async () => {
      await using stage = await setStage(browser, { load });
      const visitor = await stage.visit("/pricing?utm_source=newsletter&plan=1");
      await makeAllCalls(visitor);
      const bodies = byType(await stage.receiver.count(CALLS.length));
      assert.deepEqual([...bodies.keys()].sort(), CALLS);
      assertOwnFields(bodies);
      const common = await commonFields(visitor);
      for (const body of bodies.values()) assert.partialDeepStrictEqual(body, common);
      assert.equal(stage.receiver.forged, 0);

      const { ingest } = stage.daemon;
      const requests = paths.map((path) => `POST ${ingest}${path}`);
      assert.deepEqual([...visitor.requests].sort(), [`GET ${ingest}/v1/projects/test-key/settings`, ...requests]);
      assert.deepEqual(visitor.errors, []);
    });
  }

  it("delivers them by HTTPS, of which the settings told it", PATIENT, async () => {
    const tls = { cert: "cert.pem", key: "key.pem" };
    const settings = (): object => ({ ingest: { listen: "127.0.0.1:0", tls } });
    const files = { "cert.pem": fixture("good.crt"), "key.pem": fixture("server.key") };
    await using stage = await setStage(browser, { load: ONE_BY_ONE, settings, files });
    assert.match(stage.daemon.ingest, /^https:/);
    const visitor = await stage.visit("/");
    await visitor.page.evaluate(() => analytics.track("Signed Up"));
    await stage.receiver.count(1);
    assert.deepEqual(visitor.requests.at(-1), `POST ${stage.daemon.ingest}/v1/t`);
  });

  it("tells two visitors apart, and knows one again on the next page", PATIENT, async () => {
    await using stage = await setStage(browser, { load: ONE_BY_ONE });
    const [ada, bob] = [await stage.visit("/ada"), await stage.visit("/bob")];
    await Promise.all([ada, bob].map(({ page }) => page.evaluate(() => analytics.page())));
    await ada.page.click("a");
    await ada.page.waitForURL("**/next");
    await ada.page.evaluate(() => analytics.page());

    const bodies = (await stage.receiver.count(3)).map(({ body }) => JSON.parse(body));
    const idAt = (path: string): unknown => bodies.find(({ properties }) => properties.path === path)?.anonymousId;
    assert.equal(typeof idAt("/ada"), "string");
    assert.equal(idAt("/next"), idAt("/ada"));
    assert.notEqual(idAt("/bob"), idAt("/ada"));
  });

  it("sends again what it could not send while the daemon was down", PATIENT, async () => {
    await using stage = await setStage(browser, { load: ONE_BY_ONE });
    const { daemon, receiver, world } = stage;
    const { page } = await stage.visit("/pricing");
    await page.evaluate(() => analytics.ready());
    daemon.process.kill("SIGTERM");
    await daemon.process.exit;
    await page.evaluate(() => analytics.track("Plan Chosen"));
    assert.equal(receiver.hooks.length, 0);

    const repeat = page.waitForRequest((request) => "x-retry-count" in request.headers());
    await world.write("config.yaml", makeConfig({ url: receiver.url, ingest: new URL(daemon.ingest).host }));
    await world.serve();
    assert.equal((await repeat).url(), `${daemon.ingest}/v1/t`);
    const [hook] = await receiver.count(1);
    assert.equal(JSON.parse(hook?.body ?? "").event, "Plan Chosen");
  });
});

/** Someone who is not known at first (SPEC.md 4.3): who is, cannot be made an alias with this client library. */
async function makeAllCalls({ page }: Visitor): Promise<void> {
  await page.evaluate(async () => {
    await analytics.page("Docs", "Pricing", { section: "top" });
    await analytics.alias("u1");
    await analytics.identify("u1", { email: "ada@example.com", seats: 3 });
    await analytics.track("Plan Chosen", { plan: "pro", revenue: 39.95 });
    await analytics.group("g1", { name: "Initech" });
    await analytics.screen("Main", "Home", { dark: true });
  });
}

type Body = Record<string, unknown>;

function byType(hooks: readonly Hook[]): ReadonlyMap<string, Body> {
  return new Map(hooks.map(({ body }) => JSON.parse(body)).map((body) => [body.type, body]));
}

function assertOwnFields(bodies: ReadonlyMap<string, Body>): void {
  const properties = { section: "top", path: "/pricing", title: "Pricing", name: "Pricing", category: "Docs" };
  assert.partialDeepStrictEqual(Object.fromEntries(bodies), {
    page: { name: "Pricing", category: "Docs", properties },
    identify: { userId: "u1", traits: { email: "ada@example.com", seats: 3 } },
    track: { userId: "u1", event: "Plan Chosen", properties: { plan: "pro", revenue: 39.95 } },
    group: { userId: "u1", groupId: "g1", traits: { name: "Initech" } },
    screen: { userId: "u1", name: "Home", category: "Main", properties: { dark: true } },
    alias: { "Previous ID": bodies.get("alias")?.anonymousId, "User ID": "u1" },
  });
  for (const type of ["page", "alias"]) assert.ok(!("userId" in (bodies.get(type) ?? {})), `${type} has a userId`);
}

/** What each call has, as the page itself knows it; and the address, which only the daemon can know. */
async function commonFields({ page }: Visitor): Promise<Body> {
  const { anonymousId, userAgent } = await page.evaluate(async () => ({
    anonymousId: (await analytics.user()).anonymousId(),
    userAgent: navigator.userAgent,
  }));
  const search = "?utm_source=newsletter&plan=1";
  return {
    version: 1,
    anonymousId,
    context: {
      ...{ ip: "127.0.0.1", userAgent },
      page: { path: "/pricing", referrer: "", search, title: "Pricing", url: page.url() },
      campaign: { source: "newsletter" },
      library: { name: "analytics.js" },
    },
  };
}
