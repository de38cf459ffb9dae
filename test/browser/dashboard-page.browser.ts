import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Page } from "playwright-core";
import { PATIENT } from "../binary/waiting.ts";
import { useChromium } from "./chromium.ts";
import { ask, fetched, focused, tryMarkup } from "./in-page.ts";
import { makeTraffic, type Office, openOffice } from "./office.ts";

/** Of all that the browser gets for the first screen: compressed, with the answers of the API. */
const MOST_BYTES = 90 * 1_024;

const browser = useChromium();

describe("the dashboard as a page", () => {
  it("is small, and comes from the daemon alone", PATIENT, async () => {
    await using office = await openOffice(browser);
    await makeTraffic(office);
    const { page, requests, errors } = await office.open("/");
    await page.getByRole("row", { name: /crm/ }).waitFor();
    const { bytes, firstPaint } = await page.evaluate(fetched);
    console.log(`first screen: ${bytes} bytes, painted after ${firstPaint} ms`);
    assert.ok(bytes > 10_000 && bytes <= MOST_BYTES, `${bytes} bytes`);
    assert.deepEqual(requests, []);
    assert.deepEqual(errors, []);
  });

  it("never takes text for markup: the browser refuses it", PATIENT, async () => {
    await using office = await openOffice(browser);
    const { page } = await office.open("/");
    assert.match(await page.evaluate(tryMarkup), /TypeError: .+ requires 'TrustedHTML'/);
  });

  it("moves the title and the focus with the screen, and goes back and forward", PATIENT, async () => {
    await using office = await openOffice(browser);
    await makeTraffic(office);
    const { page, errors } = await office.open("/");
    await assertAt(page, "/", "Overview");
    await page.getByRole("link", { name: "crm" }).click();
    await assertAt(page, "/destinations/crm", "crm");
    assert.equal(await page.evaluate(focused), "H1 crm");
    await page.getByRole("link", { name: "Refused", exact: true }).click();
    await assertAt(page, "/refused", "Refused");
    await page.goBack();
    await assertAt(page, "/destinations/crm", "crm");
    await page.goBack();
    await assertAt(page, "/", "Overview");
    assert.equal(await page.evaluate(focused), "H1 Overview");
    await page.goForward();
    await assertAt(page, "/destinations/crm", "crm");
    assert.deepEqual(errors, []);
  });

  it("says of an address that is of no screen that nothing is there", PATIENT, async () => {
    await using office = await openOffice(browser);
    const { page } = await office.open("/events/%E0%A4%A");
    await page.getByRole("heading", { level: 1 }).waitFor();
  });

  it("is not there with admin.dashboard false, nor is the exception for its origin", PATIENT, async () => {
    await using office = await openOffice(browser, { admin: { dashboard: false } });
    for (const path of ["/", "/deliveries", "/dashboard/page.js", "/dashboard/page.css"]) {
      const { status } = await fetch(office.daemon.admin + path);
      assert.equal(status, 404, path);
    }
    // A page of the listener's own origin, which is no page of the dashboard.
    const { page } = await office.open("/healthz");
    const answer = await page.evaluate(ask, commandTo(office));
    assert.partialDeepStrictEqual(answer, { status: 403 });
    assert.match(typeof answer === "string" ? answer : answer.text, /forbidden_origin/);
  });
});

/** A command as a script of the listener's own origin sends it. */
function commandTo({ daemon }: Office) {
  const headers = { "content-type": "application/json" };
  return { url: `${daemon.admin}/api/destinations/crm/pause`, method: "POST", headers, body: "{}" };
}

async function assertAt(page: Page, path: string, title: string): Promise<void> {
  await page.waitForURL((url) => url.pathname === path);
  await page.getByRole("heading", { level: 1, name: title, exact: true }).waitFor();
  assert.equal(await page.title(), `${title} · Fairlead`);
}
