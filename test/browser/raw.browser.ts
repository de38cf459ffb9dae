import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { PATIENT } from "../binary/waiting.ts";
import { KEY } from "../binary/world.ts";
import { useChromium } from "./chromium.ts";
import { ask, sendBeacon, sendBeaconOnLeaving } from "./in-page.ts";
import { type Stage, setStage } from "./stage.ts";

const CALL = { writeKey: KEY, anonymousId: "a1", event: "Plan Chosen", properties: { plan: "pro" } };
const TEXT = JSON.stringify(CALL);
const IN_BASE64 = `data=${encodeURIComponent(btoa(TEXT))}`;
const FLAT = `writeKey=${KEY}&anonymousId=a1&event=Plan+Chosen&properties.plan=pro`;

const browser = useChromium();

describe("a page without a library", () => {
  for (const [how, query] of [
    ["in base64", IN_BASE64],
    ["as parameters with dots", FLAT],
  ] as const) {
    it(`calls with an image, ${how}`, PATIENT, async () => {
      await using stage = await setStage(browser);
      const { page, errors } = await stage.visit("/pricing");
      await page.setContent(`<img src="${stage.daemon.ingest}/v1/pixel/track?${query.replaceAll("&", "&amp;")}">`);
      const width = await page.locator("img").evaluate((image: { naturalWidth: number }) => image.naturalWidth);
      assert.equal(width, 1);
      await assertDelivered(stage);
      assert.deepEqual(errors, []);
    });
  }

  for (const type of [null, "application/json"]) {
    const how = type ?? "plain text";
    it(`calls with a beacon of ${how}`, PATIENT, async () => {
      await using stage = await setStage(browser);
      const { page, errors } = await stage.visit("/pricing");
      assert.equal(await page.evaluate(sendBeacon, { url: `${stage.daemon.ingest}/v1/track`, text: TEXT, type }), true);
      await assertDelivered(stage);
      assert.deepEqual(errors, []);
    });

    it(`calls with a beacon of ${how} when it is left`, PATIENT, async () => {
      await using stage = await setStage(browser);
      const { page } = await stage.visit("/pricing");
      await page.evaluate(sendBeaconOnLeaving, { url: `${stage.daemon.ingest}/v1/track`, text: TEXT, type });
      await page.goto("about:blank");
      await assertDelivered(stage);
    });
  }

  it("calls with a fetch that outlives it", PATIENT, async () => {
    await using stage = await setStage(browser);
    const { page } = await stage.visit("/pricing");
    const headers = { "content-type": "application/json", authorization: `Basic ${btoa(`${KEY}:`)}` };
    const question = { url: `${stage.daemon.ingest}/v1/track`, method: "POST", headers, body: TEXT, keepalive: true };
    const begun = page.waitForRequest(question.url);
    // The page does not live to see the answer.
    page.evaluate(ask, question).catch(() => {});
    await begun;
    await page.close();
    await assertDelivered(stage);
  });
});

/** What a page without a library does not say of its visitor, the daemon knows from the request. */
async function assertDelivered({ receiver }: Stage): Promise<void> {
  const [hook] = await receiver.count(1);
  const { context, ...body } = JSON.parse(hook?.body ?? "");
  const { writeKey: _, ...call } = CALL;
  assert.partialDeepStrictEqual(body, { version: 1, type: "track", ...call });
  assert.equal(context.ip, "127.0.0.1");
  assert.match(context.userAgent, /^Mozilla.+Chrome/);
  assert.ok(!hook?.body.includes(KEY), "the write key was delivered");
}
