import axe from "axe-core";
import type { Page } from "playwright-core";

type Axe = { run(options: object): Promise<{ readonly violations: readonly Fault[] }> };
type Fault = {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
};

/** What runs in the page finds it there. */
declare const window: { readonly axe: Axe };

/** What axe-core finds that keeps someone from using the page, each as a text. */
export async function accessibilityFaults(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe.source);
  const violations = await page.evaluate(
    async () => (await window.axe.run({ resultTypes: ["violations"] })).violations,
  );
  return violations.map(({ id, help, nodes: [node] }) => `${id}: ${help}: ${node?.html} ${node?.failureSummary}`);
}
