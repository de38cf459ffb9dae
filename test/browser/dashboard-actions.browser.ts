import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Page } from "playwright-core";
import { PATIENT } from "../binary/waiting.ts";
import { useChromium } from "./chromium.ts";
import { focused } from "./in-page.ts";
import { makeOfficeConfig, makeTraffic, type Office, openOffice } from "./office.ts";

const browser = useChromium();

describe("what the dashboard does", () => {
  it("pauses a destination and resumes it", PATIENT, async () => {
    await using office = await openOffice(browser);
    const { page, errors } = await office.open("/destinations/crm");
    await press(page, "Pause", { confirm: true });
    await page.getByRole("button", { name: "Resume" }).waitFor();
    await makeTraffic(office, { without: ["/good"] });
    const { waiting } = await countsOf(office, "crm");
    assert.ok(waiting > 2);
    await page.getByRole("main").getByText("paused").first().waitFor();
    await press(page, "Resume");
    await office.receivers.count("/good", waiting);
    await page.getByRole("button", { name: "Pause" }).waitFor();
    assert.deepEqual(errors, []);
  });

  it("has what waits tried now, once the receiver works again", PATIENT, async () => {
    await using office = await openOffice(browser);
    await makeTraffic(office);
    const { page, errors } = await office.open("/destinations/mailer");
    office.receivers.use("/failing", () => new Response("back again"));
    await press(page, "Try now");
    await page
      .getByRole("status")
      .filter({ hasText: /due now/ })
      .waitFor();
    await page.getByRole("main").getByText("working").first().waitFor();
    assert.deepEqual(errors, []);
  });

  it("sends a test event to a destination, and shows what became of it", PATIENT, async () => {
    await using office = await openOffice(browser);
    const { page, errors } = await office.open("/destinations/lake");
    await press(page, "Send a test event", { confirm: true });
    await office.receivers.count("/lake", 1);
    await page.getByRole("status").filter({ hasText: /\d/ }).waitFor();
    const { deliveries } = await office.ask<List>("/api/deliveries?destination=lake");
    assert.equal(deliveries.length, 1);
    assert.equal((await office.ask<List>("/api/deliveries?destination=crm")).deliveries.length, 0);
    assert.deepEqual(errors, []);
  });

  it("sends one delivery again", PATIENT, async () => {
    await using office = await openOffice(browser);
    await makeTraffic(office);
    const { deliveries } = await office.ask<List>("/api/deliveries?destination=billing&state=failed");
    const { page, errors } = await office.open(`/deliveries/${deliveries[0]?.id}`);
    office.receivers.use("/refusing", () => new Response("thanks"));
    await press(page, "Send again");
    await page.getByRole("main").getByText("delivered").first().waitFor();
    assert.deepEqual(errors, []);
  });

  it("sends the selected ones again", PATIENT, async () => {
    await using office = await openOffice(browser);
    await makeTraffic(office);
    const { page, errors } = await office.open("/deliveries?destination=billing&state=failed&type=track");
    const select = page.getByRole("button", { name: "Retry selected" });
    await select.waitFor();
    assert.ok(await select.isDisabled());
    office.receivers.use("/refusing", () => new Response("thanks"));
    await page.getByLabel("Select all on this page").check();
    await press(page, "Retry 1 selected");
    await page.getByRole("main").getByText("No delivery matches").waitFor();
    assert.deepEqual(errors, []);
  });

  it("counts what matches before it sends it again", PATIENT, async () => {
    await using office = await openOffice(browser);
    await makeTraffic(office);
    await makeTraffic(office, { again: "2" });
    const filter = "destination=crm&type=track&source=website";
    const replayed = async () =>
      (await office.ask<List>(`/api/deliveries?${filter}`)).deliveries.filter(({ replayedAt }) => replayedAt !== null);
    const { page, errors } = await office.open(`/deliveries?${filter}&state=delivered`);
    await page.getByRole("button", { name: "Retry all that match…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("4 deliveries").waitFor();
    await dialog.getByText("crm: 4").waitFor();
    assert.equal((await replayed()).length, 0);
    await dialog.getByRole("button", { name: "Retry" }).click();
    await page.getByRole("status").filter({ hasText: "4 wait again" }).waitFor();
    assert.equal((await replayed()).length, 4);
    assert.deepEqual(errors, []);
  });

  it("says who would get a call, and sends nothing", PATIENT, async () => {
    await using office = await openOffice(browser);
    const { page, errors } = await office.open("/events");
    const rows = page.getByRole("table").getByRole("row");
    await page.getByRole("button", { name: "Try" }).click();
    await rows.filter({ hasText: "lake" }).getByText("type is track: identify or page is wanted").waitFor();
    await rows.filter({ hasText: "billing" }).getByText("the source is website: shop is wanted").waitFor();
    await page.getByLabel("Source").selectOption("shop");
    await page.getByRole("button", { name: "Try" }).click();
    await rows.filter({ hasText: "billing" }).getByText("no rule excludes it").waitFor();
    await page.getByLabel("The call as JSON").fill('{"type": "track", "userId": "u1"}');
    await page.getByRole("button", { name: "Try" }).click();
    await page.getByRole("alert").filter({ hasText: "missing_event" }).waitFor();
    await page.getByLabel("The call as JSON").fill("{");
    await page.getByRole("button", { name: "Try" }).click();
    await page.getByRole("alert").filter({ hasText: "invalid_json" }).waitFor();
    assert.equal((await office.ask<List>("/api/deliveries")).deliveries.length, 0);
    assert.deepEqual(
      errors.filter((error) => !error.includes("400")),
      [],
    );
  });

  it("reloads the config, and shows what is wrong with it", PATIENT, async () => {
    await using office = await openOffice(browser);
    const { page } = await office.open("/system");
    await office.world.write("config.yaml", "destinations: [");
    await press(page, "Reload");
    await page
      .getByRole("main")
      .getByText(/config\.yaml:1:/)
      .first()
      .waitFor();
    await office.world.write("config.yaml", makeOfficeConfig(office.receivers).replaceAll("billing", "invoices"));
    await press(page, "Reload");
    await page.goto(`${office.daemon.admin}/`);
    await page.getByRole("row", { name: /invoices/ }).waitFor();
  });
});

describe("the dashboard by keyboard alone", () => {
  it("reaches a destination, asks before it pauses it, and gives the focus back", PATIENT, async () => {
    await using office = await openOffice(browser);
    const { page, errors } = await office.open("/");
    await page.getByRole("row", { name: /crm/ }).waitFor();
    await page.keyboard.press("Tab");
    assert.match(await page.evaluate(focused), /Skip to the content/);
    await page.keyboard.press("Enter");
    await tabTo(page, "A crm");
    await page.keyboard.press("Enter");
    // The focus moves to it with the screen.
    await page.locator("h1:focus", { hasText: "crm" }).waitFor();
    await tabTo(page, "BUTTON Pause");
    for (const key of ["Escape", "Cancel"]) {
      await page.keyboard.press("Enter");
      await page.getByRole("dialog").waitFor();
      await assertKept(page);
      if (key === "Cancel") await tabTo(page, "BUTTON Cancel");
      await page.keyboard.press(key === "Cancel" ? "Enter" : "Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
      assert.equal(await page.evaluate(focused), "BUTTON Pause");
    }
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await tabTo(page, "BUTTON Pause");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Resume" }).waitFor();
    assert.equal(await page.evaluate(focused), "BUTTON Resume");
    assert.deepEqual(errors, []);
  });

  it("filters deliveries, and opens one", PATIENT, async () => {
    await using office = await openOffice(browser);
    await makeTraffic(office);
    const { page, errors } = await office.open("/deliveries");
    await page.getByRole("table").waitFor();
    await tabTo(page, /^SELECT/);
    await page.keyboard.type("failed");
    await page.waitForURL("**/deliveries?state=failed");
    await tabTo(page, /^INPUT/);
    await page.keyboard.type("bob");
    await page.waitForURL("**/deliveries?state=failed&user=bob");
    await tabTo(page, /^A \d+-billing/);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: /^Delivery \d+-billing/ }).waitFor();
    assert.deepEqual(errors, []);
  });
});

/** More stops than any screen has between two places that follow each other. */
const MOST_STOPS = 80;

/** Presses Tab until something has the focus, as `BUTTON Pause`. */
async function tabTo(page: Page, wanted: string | RegExp): Promise<void> {
  const met: string[] = [];
  for (let stops = 0; stops < MOST_STOPS; stops += 1) {
    await page.keyboard.press("Tab");
    const now = await page.evaluate(focused);
    if (typeof wanted === "string" ? now === wanted : wanted.test(now)) return;
    met.push(now.slice(0, 40));
  }
  assert.fail(`Tab does not reach ${wanted}: ${met.join(", ")}`);
}

/** Tab goes round within the dialog, or to the browser's own bar, and never to what is behind it. */
async function assertKept(page: Page): Promise<void> {
  const met = new Set<string>();
  for (let stops = 0; stops < 6; stops += 1) {
    await page.keyboard.press("Tab");
    met.add(await page.evaluate(focused));
  }
  const within = new Set(await page.getByRole("dialog").getByRole("button").allTextContents());
  const outside = [...met].filter((one) => !one.startsWith("BODY") && !within.has(one.replace("BUTTON ", "")));
  assert.deepEqual(outside, []);
  assert.ok(met.size >= within.size);
}

type Pressed = { readonly confirm?: boolean };

/** Presses a button, and the one of the same name in the question that it asks. */
async function press(page: Page, name: string, { confirm = false }: Pressed = {}): Promise<void> {
  await page.getByRole("button", { name, exact: true }).click();
  if (confirm) await page.getByRole("dialog").getByRole("button", { name, exact: true }).click();
}

type List = { readonly deliveries: readonly { readonly id: string; readonly replayedAt: string | null }[] };
type Counts = { readonly waiting: number; readonly delivered: number };
type Status = { readonly destinations: readonly { readonly name: string; readonly counts: Counts }[] };

async function countsOf({ ask }: Office, destination: string): Promise<Counts> {
  const { destinations } = await ask<Status>("/api/status");
  const found = destinations.find(({ name }) => name === destination);
  assert.ok(found);
  return found.counts;
}
