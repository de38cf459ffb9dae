// The recipes for notifications, against the shapes that the services document, and docs/configure/notify.md.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import * as v from "valibot";
import { loadConfig } from "../../src/config/load.ts";
import { formatProblem } from "../../src/config/problems.ts";
import { NOTICE_KINDS, type Notifier } from "../../src/model/config.ts";
import { NOW, worldOf } from "../config/world.ts";
import { startDaemon } from "../flow/daemon.ts";
import { makeDestination } from "../flow/make.ts";

const PAGE = readFileSync(new URL("../../docs/configure/notify.md", import.meta.url), "utf8");
const ENV = {
  SLACK_WEBHOOK_URL: "https://hooks.slack.com/services/T0/B0/x",
  DISCORD_WEBHOOK_URL: "https://discord.com/api/webhooks/1/x",
  NTFY_TOKEN: "tk_x",
};

/** The entry below the heading Notifications of a recipe. */
function recipe(name: string): Notifier {
  const page = readFileSync(new URL(`../../docs/recipes/${name.toLowerCase()}.md`, import.meta.url), "utf8");
  const [, text = ""] = /^## Notifications\n[\s\S]*?^```yaml\n([\s\S]*?)^```/m.exec(page) ?? [];
  const rest = "sources: { website: { writeKey: x } }\ndestinations: { crm: { webhooks: [{ url: 'http://crm' }] } }\n";
  const resolve = worldOf({ env: ENV });
  const { config, problems } = loadConfig({ file: "config.yaml", text: rest + text, resolve, now: NOW });
  assert.deepEqual(problems.map(formatProblem), []);
  return config?.notify[0] ?? assert.fail(`there is no recipe for ${name}`);
}

const text = (most: number) => v.pipe(v.string(), v.minLength(1), v.maxLength(most));
const SLACK = v.strictObject({ text: text(40_000) });
/** https://discord.com/developers/docs/resources/webhook#execute-webhook */
const DISCORD = v.strictObject({
  content: text(2_000),
  allowed_mentions: v.strictObject({ parse: v.pipe(v.array(v.string()), v.maxLength(0)) }),
});
/** https://docs.ntfy.sh/publish/#publish-as-json */
const NTFY = v.strictObject({
  topic: v.pipe(v.string(), v.regex(/^[-_A-Za-z0-9]{1,64}$/)),
  title: text(250),
  message: text(4_096),
  tags: v.array(v.string()),
});

/** What it is sent when a hundred destinations fail, and by a test. */
async function sentBy(notifier: Notifier): Promise<readonly string[]> {
  const [webhook] = notifier.destination.webhooks;
  const destinations = Array.from({ length: 100 }, (_, n) => {
    return makeDestination({ name: `destination-${n}-${"x".repeat(40)}`, urls: [`https://${n}.example.com`] });
  });
  await using d = await startDaemon({
    answers: ({ url }) => (url === webhook?.url ? 200 : 503),
    config: { destinations, notify: [notifier] },
  });
  await d.call("/v1/track", { userId: "u1", event: "E" });
  await d.clock.advance("7m");
  await d.admin("POST", `/api/destinations/${notifier.destination.name}/test`, { body: {} });
  await d.clock.rest();
  return d.sent.filter(({ url }) => url === webhook?.url).map(({ body }) => body);
}

describe("a recipe of docs/recipes, for notifications", () => {
  const recipes: readonly (readonly [name: string, shape: v.GenericSchema])[] = [
    ["Slack", SLACK],
    ["Discord", DISCORD],
    ["ntfy", NTFY],
  ];
  for (const [name, shape] of recipes) {
    it(`makes what ${name} takes`, async () => {
      const bodies = await sentBy(recipe(name));
      assert.equal(bodies.length, 2);
      assert.match(bodies[0] ?? "", /100 destinations are failing: destination-0-x/);
      assert.match(bodies[1] ?? "", /Fairlead: test/);
      for (const body of bodies) {
        const { success, issues } = v.safeParse(shape, JSON.parse(body));
        assert.ok(success, `${issues?.map((one) => `${v.getDotPath(one)}: ${one.message}`).join("\n")}\n${body}`);
      }
    });
  }
});

describe("docs/configure/notify.md", () => {
  it("says when each kind is told, and no other", () => {
    const told = [...PAGE.matchAll(/^\| `(\w+)` \|/gm)].map(([, kind]) => kind);
    assert.deepEqual(told, [...NOTICE_KINDS]);
  });
});
