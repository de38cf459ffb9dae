import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AnalyticsBrowser } from "@segment/analytics-next";
import { PATIENT } from "../binary/waiting.ts";
import { KEY, postCall } from "../binary/world.ts";
import { useChromium } from "./chromium.ts";
import { ask, type Question, type Readable } from "./in-page.ts";
import { ONE_BY_ONE } from "./site.ts";
import { setStage } from "./stage.ts";

/** The page's: what refers to it runs there. */
declare const analytics: AnalyticsBrowser;

const BY_OWN_KEY = { method: "POST", headers: { authorization: `Basic ${btoa(`${KEY}:`)}` } };
const LISTEN = "127.0.0.1:0";

/** Pages of shop.example.localhost and the like, but not of example.localhost itself. */
function onlySubdomains(port: number): object {
  return { ingest: { listen: LISTEN, corsOrigins: [`http://*.example.localhost:${port}`] } };
}

const browser = useChromium();

describe("a page whose origin is not in ingest.corsOrigins", () => {
  it("cannot load analytics-next, and says why on its console", PATIENT, async () => {
    await using stage = await setStage(browser, { load: ONE_BY_ONE, settings: onlySubdomains });
    const { page, errors } = await stage.visit("/pricing", "example.localhost");
    const loading = page.evaluate(async () => void (await analytics));
    await assert.rejects(loading, /Failed to fetch/);
    assert.match(errors.join("\n"), /settings' from origin '.+' has been blocked by CORS policy/);
  });

  for (const [how, headers] of [
    ["asks first", BY_OWN_KEY.headers],
    ["need not ask first", {}],
  ] as const) {
    it(`gets no call through where the browser ${how}, and reads no answer`, PATIENT, async () => {
      await using stage = await setStage(browser, { settings: onlySubdomains });
      const { page } = await stage.visit("/pricing", "example.localhost");
      const body = JSON.stringify({ writeKey: KEY, userId: "u1", event: "Foreign" });
      const url = `${stage.daemon.ingest}/v1/track`;
      assert.equal(await page.evaluate(ask, { url, method: "POST", headers, body }), "TypeError: Failed to fetch");
      await stage.daemon.call("/v1/track", { userId: "u1", event: "Own" });
      const [hook] = await stage.receiver.count(1);
      assert.equal(JSON.parse(hook?.body ?? "").event, "Own");
    });
  }
});

describe("a page whose origin ingest.corsOrigins covers", () => {
  it("uses analytics-next as if there were no list", PATIENT, async () => {
    await using stage = await setStage(browser, { load: ONE_BY_ONE, settings: onlySubdomains });
    const { page, errors } = await stage.visit("/pricing", "shop.example.localhost");
    await page.evaluate(() => analytics.track("Plan Chosen"));
    const [hook] = await stage.receiver.count(1);
    assert.equal(JSON.parse(hook?.body ?? "").event, "Plan Chosen");
    assert.deepEqual(errors, []);
  });

  for (const [what, path, request, status, code] of [
    ["an unknown write key", "/v1/track", { headers: { authorization: "Basic b3RoZXI6" } }, 401, "unknown_write_key"],
    ["a broken body", "/v1/track", { body: "{" }, 400, "invalid_json"],
    ["a call that is too large", "/v1/t", { body: `{"userId":"${"u".repeat(33_000)}"}` }, 400, "call_too_large"],
    ["a path that is not there", "/v1/tracks", { body: "{}" }, 404, "not_found"],
    ["a method that is not taken", "/v1/track", { method: "GET" }, 405, "method_not_allowed"],
  ] as const) {
    it(`can read what is wrong with ${what}`, PATIENT, async () => {
      await using stage = await setStage(browser);
      const { page } = await stage.visit("/pricing");
      const answer = await page.evaluate(ask, { ...BY_OWN_KEY, url: `${stage.daemon.ingest}${path}`, ...request });
      assertFault(answer, { status, code });
    });
  }

  it("can read how long to wait while the store is full", PATIENT, async () => {
    await using stage = await setStage(browser, {
      settings: () => ({ outbox: { maxSize: "1MB" } }),
      answer: () => 503,
    });
    const { page } = await stage.visit("/pricing");
    const url = `${stage.daemon.ingest}/v1/batch`;
    await fill(url);
    const body = JSON.stringify({ batch: [makeCall()] });
    const answer = await page.evaluate(ask, { ...BY_OWN_KEY, url, body });
    assertFault(answer, { status: 503, code: "store_full" });
    assert.match(typeof answer === "string" ? "" : String(answer.retryAfter), /^\d+$/);
  });

  it("can send with credentials, as some libraries insist on", PATIENT, async () => {
    await using stage = await setStage(browser);
    const { page } = await stage.visit("/pricing");
    const headers = { ...BY_OWN_KEY.headers, "content-type": "application/json" };
    const body = JSON.stringify({ userId: "u1", event: "Plan Chosen" });
    const url = `${stage.daemon.ingest}/v1/track`;
    const question: Question = { url, method: "POST", headers, body, credentials: "include" };
    const answer = await page.evaluate(ask, question);
    assert.partialDeepStrictEqual(answer, { status: 200 });
    await stage.receiver.count(1);
  });
});

type Fault = { readonly status: number; readonly code: string };

function assertFault(answer: Readable, { status, code }: Fault): void {
  if (typeof answer === "string") throw new Error(`the page could not read the answer: ${answer}`);
  const { message, ...fault } = JSON.parse(answer.text);
  assert.partialDeepStrictEqual({ status: answer.status, ...fault }, { status, code, success: false });
  assert.equal(typeof message, "string");
}

function makeCall(): object {
  return { type: "track", userId: "u1", event: "Large", properties: { text: "x".repeat(20_000) } };
}

/** Until the daemon takes no more. */
async function fill(url: string): Promise<void> {
  const body = { batch: Array.from({ length: 20 }, makeCall) };
  while ((await postCall(url, body)).status === 200);
}
