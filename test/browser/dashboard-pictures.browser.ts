// The pictures of docs/operate/dashboard.md. They are taken by each run, and written by FAIRLEAD_SCREENSHOTS=docs/pictures: then
// after some minutes of traffic, so that the charts have something to show.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import type { Page } from "playwright-core";
import { PATIENT } from "../binary/waiting.ts";
import { KEY } from "../binary/world.ts";
import { useChromium } from "./chromium.ts";
import { isDrawn } from "./in-page.ts";
import { type Office, openOffice, SHOP_KEY, sendAs } from "./office.ts";
import { withPalette } from "./png.ts";

const FOLDER = process.env.FAIRLEAD_SCREENSHOTS;
/** In seconds. */
const TRAFFIC = FOLDER ? 240 : 2;
/** Of all pictures. */
const MOST_BYTES = 400 * 1_024;

const browser = useChromium();

describe("the pictures of the manual", () => {
  it("show the dashboard in both schemes, and are small", { timeout: PATIENT.timeout + 1_000 * TRAFFIC }, async () => {
    await using office = await openOffice(browser);
    const { receivers, daemon } = office;
    receivers.use("/good", () => Bun.sleep(5 + 40 * Math.random() ** 4).then(() => new Response("thanks")));
    receivers.use("/failing", () => new Response("down for repairs until noon", { status: 503 }));
    receivers.use("/refusing", () => Response.json({ error: "no such currency: EUX" }, { status: 422 }));
    const traffic = play(office, TRAFFIC);
    const { page } = await office.open("/", { viewport: { width: 1_200, height: 760 } });
    await traffic;
    const [refused] = (await office.ask<List>("/api/deliveries?destination=billing&state=failed")).deliveries;
    assert.ok(refused);
    const screens = {
      overview: "/",
      destination: "/destinations/crm",
      delivery: `/deliveries/${refused.id}`,
      live: "/live",
    };
    let total = 0;
    for (const [name, path] of Object.entries(screens)) {
      await page.goto(daemon.admin + path);
      await settle(page, name, office);
      const [light, dark] = [await picture(page, "light"), await picture(page, "dark")];
      assert.notDeepEqual(light, dark);
      for (const [scheme, bytes] of Object.entries({ light, dark })) {
        assert.ok(bytes.length > 5_000, `${name}, ${scheme}: ${bytes.length} bytes`);
        total += bytes.length;
        if (FOLDER) await writeFile(join(FOLDER, `${name}-${scheme}.png`), bytes);
      }
    }
    assert.ok(total <= MOST_BYTES, `${total} bytes`);
  });
});

/** Until what the picture is about is there. */
async function settle(page: Page, name: string, office: Office): Promise<void> {
  await page.getByRole("heading", { level: 1 }).waitFor();
  if (name === "overview" || name === "destination") await page.waitForFunction(isDrawn);
  if (name === "delivery") await page.getByText("no such currency").first().waitFor();
  if (name !== "live") return;
  await page
    .getByRole("status")
    .filter({ hasText: /^Live\./ })
    .waitFor();
  await play(office, 2);
  await page.getByRole("row").nth(12).waitFor();
  await page.getByRole("button", { name: "Pause" }).click();
}

async function picture(page: Page, colorScheme: "light" | "dark"): Promise<Buffer> {
  await page.emulateMedia({ colorScheme });
  return withPalette(await page.screenshot());
}

type List = { readonly deliveries: readonly { readonly id: string }[] };

const PAGES = ["Pricing", "Docs", "Home", "Careers", "Changelog"];
const NAMES = ["ada", "grace", "alan", "edsger", "barbara", "donald", "margaret"];

/** Calls as a shop gets them: more of them in some moments than in others. */
async function play({ daemon, receivers }: Office, seconds: number): Promise<void> {
  for (let tick = 0; tick < 5 * seconds; tick += 1) {
    const wave = 4 + 3 * Math.sin(tick / 60) + 2 * Math.random();
    const batch = Array.from({ length: Math.round(wave) }, () => makeCall());
    await sendAs(KEY, `${daemon.ingest}/v1/batch`, { batch });
    if (tick % 9 === 0) {
      const order = { currency: tick === 0 ? "EUX" : "EUR", total: 39.95, items: 2 };
      if (tick === 9) receivers.use("/refusing", () => new Response("thanks"));
      await sendAs(SHOP_KEY, `${daemon.ingest}/v1/track`, {
        userId: some(NAMES),
        event: "Order Completed",
        properties: order,
      });
    }
    if (tick % 40 === 7) await sendAs(KEY, `${daemon.ingest}/v1/track`, { event: "Signed Up" });
    await Bun.sleep(200);
  }
}

function makeCall(): object {
  const userId = some(NAMES);
  const chance = Math.random();
  if (chance < 0.6) return { type: "page", userId, name: some(PAGES) };
  if (chance < 0.97) return { type: "identify", userId, traits: { plan: "pro" } };
  return { type: "track", userId, event: "Newsletter Subscribed" };
}

function some(of: readonly string[]): string {
  return of[Math.floor(Math.random() * of.length)] ?? "";
}
