// `fairlead/browser`, as `make client` bundles it, in a page of another origin than Fairlead's.
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import type * as library from "../../src/client/browser/analytics.ts";
import type { Receiver } from "../binary/receiver.ts";
import { PATIENT } from "../binary/waiting.ts";
import { KEY } from "../binary/world.ts";
import { pack } from "../client/pack.ts";
import { useChromium } from "./chromium.ts";
import { setStage } from "./stage.ts";
import type { Visitor } from "./visitor.ts";

/** The page's: what refers to it runs there. */
declare const fairlead: typeof library;

const browser = useChromium();
let module = "";

before(async () => {
  const folder = await mkdtemp(join(tmpdir(), "fairlead-bundle-"));
  try {
    pack(folder);
    module = await readFile(join(folder, "browser/fairlead.min.js"), "utf8");
  } finally {
    await rm(folder, { recursive: true });
  }
}, PATIENT);

const LEAVE: Readonly<Record<string, (visitor: Visitor) => Promise<unknown>>> = {
  "a click on a link": ({ page }) => page.click("a"),
  "another address": ({ page }) => page.goto("about:blank"),
  "a reload": ({ page }) => page.reload(),
  "closing the page": ({ page }) => page.close({ runBeforeUnload: false }),
};

describe("fairlead/browser in a page", () => {
  it("delivers calls, without a preflight, and says so", PATIENT, async () => {
    await using stage = await setStage(browser, { module });
    const { page, requests, errors } = await stage.visit("/pricing");
    await page.waitForFunction(() => "fairlead" in globalThis);
    const report = await page.evaluate(
      async ([key = "", endpoint = ""]) => {
        const { track, page: view, flush } = new fairlead.Analytics(key, { endpoint, context: { locale: "de" } });
        const visitor = fairlead.anonymousId();
        void view({ anonymousId: visitor, name: "Pricing" });
        void track({ anonymousId: visitor, event: "Plan Chosen", properties: { plan: "pro" } });
        const { delivered, lost } = await flush();
        return { delivered: delivered.length, lost: lost.length, isSame: visitor === fairlead.anonymousId(), visitor };
      },
      [KEY, stage.daemon.ingest],
    );
    assert.deepEqual([report.delivered, report.lost, report.isSame], [2, 0, true]);
    const bodies = (await stage.receiver.count(2)).map(({ body }) => JSON.parse(body));
    const track = bodies.find(({ type }) => type === "track");
    assert.deepEqual([track.anonymousId, track.event, track.context.locale], [report.visitor, "Plan Chosen", "de"]);
    // What the page does not say of its visitor, the daemon knows from the request.
    assert.deepEqual([track.context.ip, track.context.library.name], ["127.0.0.1", "fairlead-browser"]);
    assert.match(track.context.userAgent, /^Mozilla.+Chrome/);
    assert.ok(!JSON.stringify(bodies).includes(KEY), "the write key was delivered");
    assert.deepEqual([requests, errors], [[`POST ${stage.daemon.ingest}/v1/batch`], []]);
  });

  for (const [how, leave] of Object.entries(LEAVE)) {
    it(`delivers with a beacon what was waiting when the page is left, by ${how}`, PATIENT, async () => {
      await using stage = await setStage(browser, { module });
      const visitor = await stage.visit("/pricing");
      await waitForCalls(visitor, stage.daemon.ingest);
      assert.equal(stage.receiver.hooks.length, 0);
      await leave(visitor);
      assert.deepEqual(await delivered(stage.receiver, 2), ["Plan Chosen", "identify"]);
    });
  }

  it("delivers each call once when the page was only hidden, and lives on", PATIENT, async () => {
    await using stage = await setStage(browser, { module });
    const visitor = await stage.visit("/pricing");
    await waitForCalls(visitor, stage.daemon.ingest);
    await visitor.page.evaluate(() => {
      Object.defineProperty(globalThis.document, "visibilityState", { configurable: true, get: () => "hidden" });
      globalThis.document.dispatchEvent(new Event("visibilitychange"));
    });
    assert.deepEqual(await delivered(stage.receiver, 2), ["Plan Chosen", "identify"]);
    const report = await visitor.page.evaluate(() => globalThis.analytics.flush());
    assert.deepEqual([report.delivered.length, report.lost.length], [2, 0]);
    assert.equal(stage.receiver.hooks.length, 2);
  });
});

declare global {
  var analytics: library.Analytics;
  var document: EventTarget;
}

/** Makes two calls that are not sent by themselves. */
async function waitForCalls({ page }: Visitor, endpoint: string): Promise<void> {
  await page.waitForFunction(() => "fairlead" in globalThis);
  await page.evaluate(
    ([key = "", url = ""]) => {
      globalThis.analytics = new fairlead.Analytics(key, { endpoint: url, flushAfter: 600_000 });
      void globalThis.analytics.identify({ userId: "u1" });
      void globalThis.analytics.track({ userId: "u1", event: "Plan Chosen" });
    },
    [KEY, endpoint],
  );
}

/** What came first, as events' names or else types. */
async function delivered(receiver: Receiver, count: number): Promise<readonly string[]> {
  const bodies = (await receiver.count(count)).map(({ body }) => JSON.parse(body));
  return bodies.map(({ event, type }) => event ?? type).sort();
}
