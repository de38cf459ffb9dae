// The site of the manual, as `make docs` builds it, in a real browser: whole, searchable, and in need of nobody else.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Page } from "playwright-core";
import { useChromium } from "./chromium.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const SITE = join(ROOT, "dist/docs");
const BUILD = { timeout: 120_000 };
const PATIENT = { timeout: 60_000 };

const browser = useChromium();

describe("the site of the manual", () => {
  // The other tests are about what this one leaves. A link to a page that does not exist fails the build.
  it("is built by `make docs`", BUILD, async () => {
    await promisify(execFile)("make", ["docs"], { cwd: ROOT, timeout: BUILD.timeout });
  });

  it("has each page of the manual, and each in its navigation", PATIENT, async () => {
    await using site = await openSite();
    const links = await site.page
      .locator(".VPSidebar a[href]")
      .evaluateAll((all) => all.map((one) => (one as unknown as { pathname: string }).pathname));
    const pages = readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".md") && name !== "index.md")
      .map((name) => `/${name.replace(/\.md$/, ".html").replace(/index\.html$/, "")}`);
    assert.ok(pages.length > 50);
    assert.deepEqual(
      pages.filter((page) => !links.includes(page)),
      [],
    );
  });

  it("has no link that leads nowhere, nor anything that it would get from elsewhere", () => {
    const pages = readdirSync(SITE, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".html"));
    assert.ok(pages.length > 50);
    assert.deepEqual(pages.flatMap(faultsOfPage), []);
  });

  for (const [words, expected] of [
    ["list_shrinks", "/reference/codes"],
    ["lane.closed", "/reference/log"],
    ["maxWaiting", "/reference/config/sources"],
  ] as const) {
    it(`finds ${words}, and asks nobody but its own server`, PATIENT, async () => {
      await using site = await openSite();
      await site.page.locator(".VPNavBarSearch button").first().click();
      await site.page.locator("#localsearch-input").fill(words);
      const results = site.page.locator(".VPLocalSearchBox a.result");
      await site.page.waitForFunction(`document.querySelectorAll(".VPLocalSearchBox a.result").length > 0`);
      const found = await results.evaluateAll((all) => all.map((one) => one.getAttribute("href") ?? ""));
      assert.ok(
        found.some((href) => href.startsWith(expected)),
        found.join("\n"),
      );
      assert.deepEqual(site.faults, []);
    });
  }

  for (const width of [1_280, 360]) {
    it(`never scrolls sideways, ${width} pixels wide`, PATIENT, async () => {
      await using site = await openSite({ width });
      for (const path of ["/", "/reference/codes.html", "/reference/config/", "/operate/", "/send/"]) {
        await site.page.goto(site.address + path);
        const beyond = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
        assert.equal(await site.page.evaluate(beyond), 0, path);
      }
      assert.deepEqual(site.faults, []);
    });
  }
});

type Site = AsyncDisposable & {
  readonly page: Page;
  readonly address: string;
  /** Errors of its scripts, and requests to others. */
  readonly faults: readonly string[];
};

/** The start page, from a server that knows files and nothing else. */
async function openSite({ width = 1_280 } = {}): Promise<Site> {
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: ({ url }) => fileAt(new URL(url).pathname) });
  const address = `http://127.0.0.1:${server.port}`;
  const page = await (await browser()).newPage({ viewport: { width, height: 900 } });
  const faults: string[] = [];
  page.on("request", (request) => {
    if (!request.url().startsWith(`${address}/`) && !request.url().startsWith("data:")) faults.push(request.url());
  });
  page.on("response", (response) => {
    if (response.status() >= 400) faults.push(`${response.status()}: ${response.url()}`);
  });
  page.on("pageerror", ({ message }) => faults.push(message));
  await page.goto(address);
  // Its scripts run.
  await page.waitForFunction(`document.querySelector("#app").__vue_app__ !== undefined`);
  return {
    page,
    address,
    faults,
    async [Symbol.asyncDispose]() {
      await page.close();
      await server.stop(true);
    },
  };
}

function fileAt(path: string): Response {
  const file = Bun.file(join(SITE, path.endsWith("/") ? `${path}index.html` : path));
  return existsSync(file.name ?? "") ? new Response(file) : new Response("not found", { status: 404 });
}

/** Its links to pages and headings that do not exist, and what a browser would load from another server. */
function faultsOfPage(page: string): readonly string[] {
  const html = htmlOf(page);
  const loaded = [...html.matchAll(/<(?:script|img|link|source|iframe)\b[^>]*?\b(?:src|href)="([^"]*)"/g)];
  const links = [...html.matchAll(/<a\b[^>]*?\bhref="([^"]*)"/g)];
  return [
    ...loaded.filter(([, address = ""]) => /^(https?:)?\/\//.test(address)).map(([tag]) => `${page}: ${tag}`),
    ...links.filter(([, address = ""]) => !leadsSomewhere(page, address)).map(([, address]) => `${page}: ${address}`),
  ];
}

function leadsSomewhere(page: string, address: string): boolean {
  if (/^[a-z]+:/.test(address)) return true;
  const [path = "", anchor] = address.replaceAll("&amp;", "&").split("#");
  const target =
    path === "" ? `/${page}` : posix.resolve(`/${posix.dirname(page)}`, path) + (path.endsWith("/") ? "/" : "");
  const file = target.replace(/\/+$/, "/index.html").slice(1);
  if (!existsSync(join(SITE, file))) return false;
  return anchor === undefined || anchor === "" || htmlOf(file).includes(` id="${decodeURIComponent(anchor)}"`);
}

const pages = new Map<string, string>();

function htmlOf(page: string): string {
  const text = pages.get(page) ?? readFileSync(join(SITE, page), "utf8");
  pages.set(page, text);
  return text;
}
