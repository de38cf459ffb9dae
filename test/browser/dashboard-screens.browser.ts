import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import type { Page } from "playwright-core";
import { PATIENT } from "../binary/waiting.ts";
import { accessibilityFaults } from "./axe.ts";
import { useChromium } from "./chromium.ts";
import { contentWidth } from "./in-page.ts";
import { HOSTILE, MESSAGE, makeTraffic, type Office, openOffice } from "./office.ts";

type Screen = {
  readonly name: string;
  /** Its address, with filters. */
  readonly path: (ids: Ids) => string;
  readonly title: string | RegExp;
  /** Texts that are there once the data is. */
  readonly shows: readonly (string | RegExp)[];
  /** The filters that the address sets, by their labels. */
  readonly filters?: Readonly<Record<string, string>>;
  /** What happens while it is open. */
  readonly meanwhile?: (page: Page, office: Office) => Promise<void>;
};

/** Ids that the daemon has chosen. */
type Ids = { readonly failed: string; readonly hostile: string; readonly deletion: string };

const SCREENS: readonly Screen[] = [
  { name: "the overview", path: () => "/", title: "Overview", shows: ["crm", "mailer", "lake", /\d+ problem/] },
  {
    name: "a destination that fails",
    path: () => "/destinations/mailer?span=1d",
    title: "mailer",
    shows: ["/failing", "503"],
    filters: { Over: "1d" },
  },
  {
    name: "deliveries",
    path: () => "/deliveries?state=failed&destination=billing&source=shop&type=track&user=bob&since=2h",
    title: "Deliveries",
    shows: ["-billing", "answered 422"],
    filters: { State: "failed", Destination: "billing", Source: "shop", Type: "track", User: "bob", Since: "2h" },
  },
  {
    name: "a delivery that was refused",
    path: ({ failed }) => `/deliveries/${failed}`,
    title: /^Delivery \d+-billing$/,
    shows: ["/refusing", `no such field ${HOSTILE}`, MESSAGE.refused],
  },
  {
    name: "a delivery whose event is hostile",
    path: ({ hostile }) => `/deliveries/${hostile}`,
    title: /^Delivery \d+-crm$/,
    shows: [HOSTILE, MESSAGE.hostile, "***"],
  },
  { name: "the search for an event", path: () => "/events", title: "Find an event", shows: ["messageId"] },
  {
    name: "the story of an event",
    path: () => `/events/${MESSAGE.hostile}`,
    title: `Event ${MESSAGE.hostile}`,
    shows: ["-crm", "-mailer", HOSTILE, "billing"],
  },
  {
    name: "the story of a refused call",
    path: () => `/events/${MESSAGE.broken}`,
    title: `Event ${MESSAGE.broken}`,
    shows: ["missing_id"],
  },
  {
    name: "live events",
    path: () => "/live?kind=accepted&source=website&type=track",
    title: "Live",
    shows: [`track ${HOSTILE}`, "website → crm, mailer"],
    filters: { What: "accepted", Source: "website", Type: "track" },
    meanwhile: callWhileWatched,
  },
  {
    name: "refused calls",
    path: () => "/refused?source=website&code=missing_id",
    title: "Refused",
    shows: ["website", "missing_id"],
    filters: { Source: "website", Code: "missing_id" },
  },
  {
    name: "sources",
    path: () => "/sources?source=web",
    title: "Sources",
    shows: ["website"],
    filters: { Source: "web" },
  },
  {
    name: "an audience",
    path: () => "/audiences?source=website&name=Big+Spenders",
    title: "Audiences",
    shows: ["Big Spenders", "3 added"],
  },
  {
    name: "the deletions of a user",
    path: () => "/deletions?user=leaver",
    title: "Deletions",
    shows: [/^del-/],
    filters: { User: "leaver" },
  },
  {
    name: "the daemon itself",
    path: () => "/system",
    title: "System",
    shows: ["config.yaml", "fairlead.db", "in force"],
  },
];

const browser = useChromium();
const office = useOffice();

describe("a screen of the dashboard", () => {
  for (const { name, path, title, shows, filters = {}, meanwhile } of SCREENS) {
    it(`opens by its address, and again by a reload: ${name}`, PATIENT, async () => {
      const opened = await office();
      await using visitor = await opened.open(path(opened.ids));
      const { page, requests, errors } = visitor;
      for (const round of ["open", "reload"]) {
        if (round === "reload") await page.reload();
        await page.getByRole("heading", { level: 1, name: title }).waitFor();
        await meanwhile?.(page, opened);
        for (const text of shows) await shown(page, text);
        for (const [label, value] of Object.entries(filters)) {
          const filter = page.locator("label", { hasText: new RegExp(`^${label}`) }).locator("input, select");
          assert.equal(await filter.inputValue(), value, `${label}, ${round}`);
        }
      }
      assert.equal(await page.title(), `${await page.getByRole("heading", { level: 1 }).textContent()} · Fairlead`);
      assert.deepEqual(requests, []);
      assert.deepEqual(errors, []);
    });

    it(`can be used by everyone, in both schemes, wide and narrow: ${name}`, PATIENT, async () => {
      const opened = await office();
      await using visitor = await opened.open(path(opened.ids));
      const { page } = visitor;
      await meanwhile?.(page, opened);
      for (const text of shows) await shown(page, text);
      for (const width of [1_280, 320]) {
        await page.setViewportSize({ width, height: 900 });
        await assertFits(page, width);
        for (const colorScheme of ["light", "dark"] as const) {
          await page.emulateMedia({ colorScheme });
          assert.deepEqual(await accessibilityFaults(page), [], `${width} px, ${colorScheme}`);
        }
      }
    });
  }
});

describe("a screen of a daemon at which nothing has happened yet", () => {
  for (const path of ["/deliveries", "/live", "/refused", "/audiences", "/deletions", "/events/unknown"]) {
    it(`says what to do: ${path}`, PATIENT, async () => {
      await using fresh = await openOffice(browser);
      const { page, errors } = await fresh.open(path);
      await page.getByRole("main").locator(".empty").first().waitFor();
      assert.ok((await page.getByRole("main").locator(".empty p").count()) >= 2);
      assert.deepEqual(await accessibilityFaults(page), []);
      assert.deepEqual(errors, []);
    });
  }
});

/** Waits for a text that is more than a choice of a filter. */
function shown(page: Page, text: string | RegExp): Promise<void> {
  return page.getByRole("main").getByText(text).and(page.locator(":not(option)")).first().waitFor();
}

async function callWhileWatched(page: Page, { daemon }: Office): Promise<void> {
  await page
    .getByRole("status")
    .filter({ hasText: /^Live\./ })
    .waitFor();
  await daemon.call("/v1/track", { userId: "ada", event: HOSTILE });
}

/** The page itself never scrolls sideways; tables do, in boxes of their own. */
async function assertFits(page: Page, width: number): Promise<void> {
  const content = await page.evaluate(contentWidth);
  assert.ok(content <= width, `${content} px wide in ${width} px`);
}

type Furnished = Office & { readonly ids: Ids };

/** One for all tests of this file: they only look. */
function useOffice(): () => Promise<Furnished> {
  let opening: Promise<Furnished> | undefined;
  after(async () => (await opening?.catch(() => undefined))?.[Symbol.asyncDispose](), PATIENT);
  return () => {
    opening ??= furnish();
    return opening;
  };
}

async function furnish(): Promise<Furnished> {
  const opened = await openOffice(browser);
  await makeTraffic(opened);
  const [failed = "", hostile = ""] = await Promise.all([
    deliveryOf(opened, MESSAGE.refused, "billing"),
    deliveryOf(opened, MESSAGE.hostile, "crm"),
  ]);
  const { deletions } = await opened.ask<{ deletions: readonly { id: string }[] }>("/api/deletions");
  return { ...opened, ids: { failed, hostile, deletion: deletions[0]?.id ?? "" } };
}

type Story = { readonly events: readonly { readonly event: number }[] };

/** The number of the event, a hyphen, and the destination. */
async function deliveryOf({ ask }: Office, messageId: string, destination: string): Promise<string> {
  const { events } = await ask<Story>(`/api/events/${messageId}`);
  return `${events[0]?.event}-${destination}`;
}
