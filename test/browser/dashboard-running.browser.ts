import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Page } from "playwright-core";
import { PATIENT } from "../binary/waiting.ts";
import { KEY } from "../binary/world.ts";
import { useChromium } from "./chromium.ts";
import { elementCount, hasAccountedFor, isDrawn, longTasks, setHidden } from "./in-page.ts";
import { makeOfficeConfig, type Office, openOffice, sendAs } from "./office.ts";

const browser = useChromium();

describe("the dashboard while its daemon comes and goes", () => {
  it("says since when the daemon does not answer, and goes on when it does", PATIENT, async () => {
    await using office = await openOffice(browser);
    const { page } = await office.open("/");
    await page.getByRole("row", { name: /crm/ }).waitFor();
    office.daemon.process.kill("SIGKILL");
    await office.daemon.process.exit;
    const lost = page.getByRole("alert").filter({ hasText: /does not answer since \d/ });
    await lost.waitFor();
    assert.equal(await page.getByRole("row", { name: /crm/ }).count(), 1);

    const admin = { listen: new URL(office.daemon.admin).host };
    await office.world.write("config.yaml", makeOfficeConfig(office.receivers, { admin }).replaceAll("crm", "newcrm"));
    await office.world.serve();
    await page.getByRole("row", { name: /newcrm/ }).waitFor();
    await lost.waitFor({ state: "detached" });
  });

  for (const path of ["/", "/destinations/crm", "/deliveries", "/live"]) {
    it(`asks nothing while its tab is hidden: ${path}`, PATIENT, async () => {
      await using office = await openOffice(browser);
      const { page } = await office.open("/events");
      await page.clock.install();
      await page.goto(office.daemon.admin + path);
      await page.getByRole("heading", { level: 1 }).waitFor();
      const asked = countRequests(page);
      await passMinute(page, office);
      assert.ok(asked.since() > 0, "it asks while it is seen");

      await page.evaluate(setHidden, true);
      // What is under way then still gets its answer.
      await passMinute(page, office);
      asked.since();
      await passMinute(page, office);
      assert.equal(asked.since(), 0);

      const next = page.waitForRequest(/\/api\//);
      await page.evaluate(setHidden, false);
      await next;
    });
  }
});

/** Enough for many pages of every list. */
const MANY = 10_000;
const PAGES = 10;
/** Of the whole page. Each of its rows has some thirty. */
const MOST_ELEMENTS = 3_000;

describe("the dashboard of a busy daemon", () => {
  it("pages through ten thousand deliveries, and draws its charts", PATIENT, async () => {
    await using office = await openOffice(browser);
    office.receivers.use("/failing", () => new Response("no", { status: 400 }));
    await flood(office);
    const { page, errors } = await office.open("/deliveries?destination=mailer", { script: longTasks });
    const met = new Set<string>();
    for (let pages = 0; pages < PAGES; pages += 1) {
      const rows = page.getByRole("rowheader");
      await rows.first().waitFor();
      for (const id of await rows.allTextContents()) met.add(id);
      assert.ok((await page.evaluate(elementCount)) < MOST_ELEMENTS);
      const address = page.url();
      await page.getByRole("link", { name: /^Older/ }).click();
      await page.waitForURL((url) => url.href !== address);
      await page
        .getByRole("rowheader")
        .filter({ hasText: [...met].at(-1) ?? "" })
        .waitFor({ state: "detached" });
    }
    assert.equal(met.size, PAGES * 50);
    for (let pages = 0; pages < PAGES; pages += 1) await page.goBack();
    await page
      .getByRole("rowheader")
      .filter({ hasText: [...met][0] ?? "" })
      .waitFor();
    await tellLongTasks(page, "twenty pages of deliveries");

    await page.goto(`${office.daemon.admin}/destinations/mailer`);
    await page.getByRole("figure").first().waitFor();
    await page.waitForFunction(isDrawn);
    assert.ok((await page.evaluate(elementCount)) < MOST_ELEMENTS);
    await tellLongTasks(page, "a destination with its charts");
    assert.deepEqual(errors, []);
  });

  it("shows a burst live: no more rows than it can draw, and how many were left out", PATIENT, async () => {
    await using office = await openOffice(browser);
    const { page, errors } = await office.open("/live?kind=accepted");
    await page
      .getByRole("status")
      .filter({ hasText: /^Live\./ })
      .waitFor();
    await flood(office);
    await page.waitForFunction(hasAccountedFor, MANY);
    const rows = await page.getByRole("row").count();
    assert.ok(rows > 1 && rows <= 201, `${rows} rows`);
    assert.ok((await page.evaluate(elementCount)) < MOST_ELEMENTS);
    await page.getByRole("button", { name: "Pause" }).click();
    const before = await page.getByRole("row").allTextContents();
    await flood(office, "more");
    await page.getByText(/new ones held back/).waitFor();
    assert.deepEqual(await page.getByRole("row").allTextContents(), before);
    assert.deepEqual(errors, []);
  });
});

/** A busy machine makes them longer, so they decide nothing. */
async function tellLongTasks(page: Page, of: string): Promise<void> {
  const tasks = await page.evaluate(() => (globalThis as { longTasks?: readonly number[] }).longTasks ?? []);
  console.log(`long tasks of ${of}: ${tasks.length}, at most ${Math.max(0, ...tasks)} ms`);
}

/** Counts the requests to the API since it was last asked. */
function countRequests(page: Page) {
  let count = 0;
  page.on("request", (request) => {
    if (new URL(request.url()).pathname.startsWith("/api/")) count += 1;
  });
  return {
    since() {
      const before = count;
      count = 0;
      return before;
    },
  };
}

/** Lets the page's own clock run, second by second, and answers to its questions come in. */
async function passMinute(page: Page, { daemon }: Office): Promise<void> {
  for (let seconds = 0; seconds < 60; seconds += 5) {
    await page.clock.runFor(5_000);
    await page.evaluate(async (url) => void (await (await fetch(url)).text()), `${daemon.admin}/healthz`);
  }
}

const BATCH = 500;

/** Ten thousand calls, as fast as they are accepted. */
async function flood({ daemon }: Office, name = "flood"): Promise<void> {
  for (let first = 0; first < MANY; first += BATCH) {
    const batch = Array.from({ length: BATCH }, (_, nth) => ({
      ...{ type: "track", userId: `user-${first + nth}`, event: "Flooded", messageId: `${name}-${first + nth}` },
    }));
    const { status } = await sendAs(KEY, `${daemon.ingest}/v1/batch`, { batch });
    assert.equal(status, 200);
  }
}
