import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AnalyticsBrowser } from "@segment/analytics-next";
import type { Receiver } from "../binary/receiver.ts";
import { PATIENT } from "../binary/waiting.ts";
import { useChromium } from "./chromium.ts";
import { makeBatching, ONE_BY_ONE } from "./site.ts";
import { setStage } from "./stage.ts";
import type { Visitor } from "./visitor.ts";

/** Both are the page's: what refers to them runs there. */
declare const analytics: AnalyticsBrowser;
declare const document: { querySelector(selector: "a"): Pick<EventTarget, "addEventListener"> };

const LEAVE: Readonly<Record<string, (visitor: Visitor) => Promise<unknown>>> = {
  "a click on a link": ({ page }) => page.click("a"),
  "another address": ({ page }) => page.goto("about:blank"),
  "a reload": ({ page }) => page.reload(),
  "closing the page": ({ page }) => page.close(),
};

const browser = useChromium();

describe("analytics-next on a page that is left", () => {
  for (const [how, leave] of Object.entries(LEAVE)) {
    it(`delivers a batch that was waiting, on ${how}`, PATIENT, async () => {
      await using stage = await setStage(browser, { load: makeBatching({ size: 50 }) });
      const visitor = await stage.visit("/pricing");
      await visitor.page.evaluate(async () => {
        await analytics.identify("u1");
        await analytics.track("Plan Chosen");
      });
      assert.equal(stage.receiver.hooks.length, 0);
      await leave(visitor);
      assert.deepEqual(await delivered(stage.receiver, 2), ["Plan Chosen", "identify"]);
    });
  }

  // One by one only: of calls that wait for a batch, the library loses those that it has not yet looked at.
  it("delivers what was called by the click that leaves it", PATIENT, async () => {
    await using stage = await setStage(browser, { load: ONE_BY_ONE });
    const { page } = await stage.visit("/pricing");
    await page.evaluate(async () => {
      await analytics.ready();
      document.querySelector("a").addEventListener("click", () => {
        void analytics.identify("u1");
        void analytics.track("Plan Chosen");
      });
    });
    await page.click("a");
    await page.waitForURL("**/next");
    assert.deepEqual(await delivered(stage.receiver, 2), ["Plan Chosen", "identify"]);
  });
});

/** What came first, as events' names or else types. */
async function delivered(receiver: Receiver, count: number): Promise<readonly string[]> {
  const bodies = (await receiver.count(count)).map(({ body }) => JSON.parse(body));
  return bodies.map(({ event, type }) => event ?? type).sort();
}
