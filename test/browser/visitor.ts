import type { Browser, BrowserContextOptions, Page } from "playwright-core";

/** Someone who looks at a page, with nothing cached or stored before. Disposing of it closes all of their pages. */
export type Visitor = AsyncDisposable & {
  readonly page: Page;
  /** Every request of the pages that was not for the site itself, as `POST http://127.0.0.1:8080/v1/t`. */
  readonly requests: readonly string[];
  /** The errors on the console, and those that nobody has caught. */
  readonly errors: readonly string[];
};

export type Look = BrowserContextOptions & {
  /** Runs in each page before anything of its own. */
  readonly script?: () => void;
};

export async function makeVisitor(browser: Browser, url: string, { script, ...look }: Look = {}): Promise<Visitor> {
  const context = await browser.newContext(look);
  if (script) await context.addInitScript(script);
  const requests: string[] = [];
  const errors: string[] = [];
  const { origin } = new URL(url);
  context.on("request", (request) => {
    if (!request.url().startsWith(`${origin}/`)) requests.push(`${request.method()} ${request.url()}`);
  });
  context.on("console", (message) => {
    if (message.type() === "error") errors.push(message.text());
  });
  context.on("weberror", (error) => errors.push(error.error().message));
  const page = await context.newPage();
  await page.goto(url);
  return { page, requests, errors, [Symbol.asyncDispose]: () => context.close() };
}
