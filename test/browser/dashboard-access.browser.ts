import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Page } from "playwright-core";
import { PATIENT } from "../binary/waiting.ts";
import { useChromium } from "./chromium.ts";
import { ask, frame, type Readable } from "./in-page.ts";
import { makeTraffic, type Office, openOffice } from "./office.ts";
import { startSite } from "./site.ts";

const ADMIN = { token: "token-to-act-0123456789", readToken: "token-to-look-0123456789" };

const browser = useChromium();

describe("a dashboard with admin.token", () => {
  it("asks for it, refuses a wrong one in words, and keeps the right one for this tab alone", PATIENT, async () => {
    await using office = await openOffice(browser, { admin: ADMIN });
    const { page } = await office.open("/");
    const asked: string[] = [];
    page.context().on("request", (request) => asked.push(request.url()));
    await signIn(page, "another-token");
    await page.getByRole("alert").filter({ hasText: "not the one in the config" }).waitFor();
    await signIn(page, ADMIN.token);
    await page.getByRole("row", { name: /crm/ }).waitFor();
    await page.reload();
    await page.getByRole("row", { name: /crm/ }).waitFor();

    const { cookies, origins } = await page.context().storageState();
    assert.deepEqual({ cookies, origins }, { cookies: [], origins: [] });
    assert.ok(asked.length > 3);
    for (const url of [...asked, page.url()]) assert.ok(!url.includes("token"), url);

    const other = await page.context().newPage();
    await other.goto(`${office.daemon.admin}/`);
    await other.getByLabel(/admin\.token/).waitFor();
    assert.equal(await other.getByRole("row", { name: /crm/ }).count(), 0);
  });

  it("forgets it when the operator signs out", PATIENT, async () => {
    await using office = await openOffice(browser, { admin: ADMIN });
    const { page } = await office.open("/destinations/crm");
    await signIn(page, ADMIN.token);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel(/admin\.token/).waitFor();
    await page.reload();
    await page.getByLabel(/admin\.token/).waitFor();
  });

  it("shows everything to admin.readToken, and does nothing for it", PATIENT, async () => {
    await using office = await openOffice(browser, { admin: ADMIN });
    await makeTraffic(office);
    const { page } = await office.open("/destinations/crm");
    await signIn(page, ADMIN.readToken);
    const pause = page.getByRole("button", { name: "Pause" });
    await pause.waitFor();
    assert.ok(await pause.isDisabled());
    assert.match((await pause.getAttribute("title")) ?? "", /admin\.readToken.* is read-only/);
    const answer = await page.evaluate(ask, pausing(office, { authorization: `Bearer ${ADMIN.readToken}` }));
    assertFault(answer, { status: 403, code: "read_only" });
    await assertNotPaused(office);
  });
});

describe("a page from elsewhere", () => {
  for (const host of ["127.0.0.1", "localhost", "shop.localhost"]) {
    it(`at another port of ${host} can neither read nor act nor frame`, PATIENT, async () => {
      await using office = await openOffice(browser);
      await using site = startSite();
      const { page } = await office.open("/");
      await page.goto(`http://${host}:${site.port}/`);
      assert.equal(await page.evaluate(ask, { url: `${office.daemon.admin}/api/status`, method: "GET" }), BLOCKED);
      assert.equal(await page.evaluate(ask, pausing(office)), BLOCKED);
      // What a page may send without asking first: the browser does it, and shows nothing of the answer.
      const simple = { ...pausing(office, { "content-type": "text/plain" }), mode: "no-cors" } as const;
      assert.partialDeepStrictEqual(await page.evaluate(ask, simple), { status: 0, text: "" });
      await page.evaluate(frame, `${office.daemon.admin}/`);
      const framed = page.frames().find((one) => one !== page.mainFrame());
      assert.ok(framed);
      assert.equal(await framed.locator("#page").count(), 0);
      await assertNotPaused(office);
    });
  }

  it("that gives its own name the address of the daemon can neither read nor act", PATIENT, async () => {
    await using office = await openOffice(browser);
    const { port } = new URL(office.daemon.admin);
    const rebound = `http://shop.localhost:${port}`;
    const { page } = await office.open("/");
    await page.route(`${rebound}/page`, (route) =>
      route.fulfill({ contentType: "text/html", body: "<!doctype html>" }),
    );
    await page.goto(`${rebound}/page`);
    for (const question of [
      { url: "/api/status", method: "GET" },
      { ...pausing(office), url: PAUSE },
    ]) {
      assertFault(await page.evaluate(ask, question), { status: 403, code: "forbidden_host" });
    }
    await assertNotPaused(office);
  });
});

const BLOCKED = "TypeError: Failed to fetch";
const PAUSE = "/api/destinations/crm/pause";

function pausing({ daemon }: Office, headers: Readonly<Record<string, string>> = {}) {
  const json = { "content-type": "application/json" };
  return { url: daemon.admin + PAUSE, method: "POST", headers: { ...json, ...headers }, body: "{}" };
}

async function signIn(page: Page, token: string): Promise<void> {
  await page.getByLabel(/admin\.token/).fill(token);
  await page.getByRole("button", { name: "Open" }).click();
}

function assertFault(answer: Readable, { status, code }: { readonly status: number; readonly code: string }): void {
  if (typeof answer === "string") throw new Error(`the page could not read the answer: ${answer}`);
  assert.equal(answer.status, status);
  assert.equal(JSON.parse(answer.text).code, code);
}

type Status = { readonly destinations: readonly { readonly name: string; readonly pausedSince: string | null }[] };

async function assertNotPaused(office: Office): Promise<void> {
  const { destinations } = await office.ask<Status>("/api/status");
  assert.equal(destinations.find(({ name }) => name === "crm")?.pausedSince, null);
}
