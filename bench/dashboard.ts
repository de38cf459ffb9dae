/**
 * What the dashboard costs with a million waiting deliveries: how soon the page is there, how long each screen's questions
 * to the API take, and how long calls wait for their acknowledgement with and without a page open. Run by
 * `make bench BENCH=dashboard`.
 */
import type { Browser } from "playwright-core";
import { startChromium } from "../test/browser/chromium.ts";
import { fetched } from "../test/browser/in-page.ts";
import { writeSpreadConfig } from "./config.ts";
import type { Server } from "./contender.ts";
import { describe } from "./machine.ts";
import { BATCH } from "./measure.ts";
import { readWhole } from "./options.ts";
import { kindOf, type Tools, withServer, withTools } from "./run.ts";
import { median, percentile } from "./statistics.ts";

const [WAITING, ROUNDS, SECONDS] = [1_000_000, 6, 10];
const PER_SECOND = 200;
const TIMES = 15;
/** Its deliveries wait; those of the other destination go out. */
const HELD = "bench-0";

/** `dashboard [waiting]`: fewer are enough to see whether it works. */
export async function benchDashboard([waiting]: readonly string[]): Promise<void> {
  const options = { fairlead: "dist/fairlead", folder: "dist", profile: false };
  await withTools(options, async (tools) => {
    const url = `http://127.0.0.1:${tools.receiverPort}`;
    const config = writeSpreadConfig({ urls: [`${url}/0`, `${url}/1`] });
    const count = waiting === undefined ? WAITING : readWhole("waiting", waiting);
    console.log(describe(options).text);
    await withServer("fairlead", { ...tools, config }, (server) => measureDashboard(server, tools, count));
  });
}

async function measureDashboard(server: Server, tools: Tools, waiting: number): Promise<void> {
  const admin = `http://127.0.0.1:${server.adminPort}`;
  await post(`${admin}/api/destinations/${HELD}/pause`);
  await tools.load.ask("flood", { ...kindOf(server, "random"), eventsPerRequest: BATCH, requests: waiting / BATCH });
  for (const [name, paths] of await screensOf(admin)) {
    for (const path of paths) console.log(`${name}: ${path.slice(0, 70)}: ${await timeOf(() => askFor(admin + path))}`);
  }
  await using chromium = await startChromium();
  const { browser } = chromium;
  console.log(`first paint: ${await firstPaints(browser, admin)}`);
  for (let round = 1; round <= ROUNDS; round += 1) {
    const none = await measurePace(server, tools);
    const stop = askLikePages(admin);
    const asked = await measurePace(server, tools);
    stop();
    const context = await browser.newContext();
    await (await context.newPage()).goto(`${admin}/`);
    await (await context.newPage()).goto(`${admin}/live`);
    const here = await measurePace(server, tools);
    await context.close();
    console.log(
      `acknowledgement at ${PER_SECOND} calls/s: ${none} without a page; ${asked} with the questions of two; ${here} with two in a browser here`,
    );
  }
}

/** What the overview and the live screen ask, without a browser that takes the machine's processors for its drawing. */
function askLikePages(admin: string): () => void {
  const stream = new AbortController();
  const streaming = fetch(`${admin}/api/live`, { signal: stream.signal }).then((response) => response.bytes());
  // It ends by being stopped.
  streaming.catch(() => {});
  const timers = [
    setInterval(() => void askFor(`${admin}/api/status`), 1_000),
    setInterval(() => void askFor(`${admin}/api/series?span=1h`), 5_000),
  ];
  return () => {
    for (const timer of timers) clearInterval(timer);
    stream.abort();
  };
}

/** The questions of each screen, as `src/dashboard/` asks them. */
async function screensOf(admin: string): Promise<readonly (readonly [string, readonly string[]])[]> {
  const list = `/api/deliveries?limit=50&destination=${HELD}&state=waiting`;
  const { deliveries, cursor } = (await askFor(admin + list)) as Page;
  const [first] = deliveries;
  if (!first) throw new Error("nothing waits");
  return [
    ["every screen", ["/api/status"]],
    ["overview", ["/api/series?span=1h"]],
    [
      "destination",
      [`/api/series?span=1d&destination=${HELD}`, `/api/deliveries?limit=5&destination=${HELD}&state=failed`],
    ],
    ["deliveries", ["/api/deliveries?limit=50", list, `${list}&cursor=${encodeURIComponent(cursor ?? "")}`]],
    ["deliveries of a user", [`/api/deliveries?limit=50&user=${first.userId}`, "/api/deliveries?limit=50&user=nobody"]],
    ["deliveries of a type", ["/api/deliveries?limit=50&type=alias"]],
    ["delivery", [`/api/deliveries/${first.id}`]],
    ["event", [`/api/events/${first.messageId}`, "/api/events/unknown"]],
    ["refused", ["/api/rejected?limit=100"]],
    ["audiences", ["/api/audiences", "/api/traits"]],
    ["deletions", ["/api/deletions"]],
    ["system", ["/api/config"]],
  ];
}

type Page = {
  readonly deliveries: readonly { readonly id: string; readonly messageId: string; readonly userId: string }[];
  readonly cursor: string | null;
};

async function askFor(url: string): Promise<unknown> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  return response.json();
}

async function post(url: string): Promise<void> {
  const response = await fetch(url, { method: "POST", body: "{}", headers: { "Content-Type": "application/json" } });
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
}

async function timeOf(ask: () => Promise<unknown>): Promise<string> {
  const times: number[] = [];
  for (let nth = 0; nth < TIMES; nth += 1) {
    const startedAt = performance.now();
    await ask();
    times.push(performance.now() - startedAt);
  }
  return inWords(times);
}

async function firstPaints(browser: Browser, admin: string): Promise<string> {
  const times: number[] = [];
  for (let nth = 0; nth < TIMES; nth += 1) {
    // A context of its own has nothing cached.
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(`${admin}/`);
    await page.getByRole("row").first().waitFor();
    await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint").length > 0);
    times.push((await page.evaluate(fetched)).firstPaint);
    await context.close();
  }
  return inWords(times);
}

async function measurePace(server: Server, { load }: Tools): Promise<string> {
  const kind = { ...kindOf(server, "random"), eventsPerRequest: 1, sources: 2 };
  const { latencies } = await load.ask("pace", { ...kind, perSecond: PER_SECOND, seconds: SECONDS });
  return `p50 ${percentile(latencies, 0.5).toFixed(2)}, p99 ${percentile(latencies, 0.99).toFixed(2)} ms`;
}

function inWords(times: readonly number[]): string {
  return `median ${median(times).toFixed(1)}, at most ${Math.max(...times).toFixed(1)} ms`;
}
