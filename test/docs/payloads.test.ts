// The recipes for events, against the shapes that the services document, and the example of docs/configure/payloads.md.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import * as v from "valibot";
import { loadConfig } from "../../src/config/load.ts";
import { formatProblem } from "../../src/config/problems.ts";
import type { Destination } from "../../src/model/config.ts";
import { NOW, worldOf } from "../config/world.ts";
import { startDaemon } from "../flow/daemon.ts";

const PAGE = readFileSync(new URL("../../docs/configure/payloads.md", import.meta.url), "utf8");
const ENV = {
  SLACK_WEBHOOK_URL: "https://hooks.slack.com/services/T0/B0/x",
  DISCORD_WEBHOOK_URL: "https://discord.com/api/webhooks/1/x",
  NTFY_TOKEN: "tk_x",
};

/** The destination in the first YAML of a page. */
function firstOf(page: string): Destination {
  const [, text = ""] = /^```yaml\n([\s\S]*?)^```/m.exec(page) ?? [];
  const written = `sources: { website: { writeKey: x } }\n${text}`;
  const { config, problems } = loadConfig({
    file: "config.yaml",
    text: written,
    resolve: worldOf({ env: ENV }),
    now: NOW,
  });
  assert.deepEqual(problems.map(formatProblem), []);
  return config?.destinations[0] ?? assert.fail("the page has no destination");
}

function recipe(name: string): Destination {
  return firstOf(readFileSync(new URL(`../../docs/recipes/${name.toLowerCase()}.md`, import.meta.url), "utf8"));
}

const text = (most: number) => v.pipe(v.string(), v.minLength(1), v.maxLength(most));
/** https://docs.slack.dev/reference/block-kit/composition-objects/text-object */
const slackText = (type: string, most: number) => v.strictObject({ type: v.literal(type), text: text(most) });
const SLACK = v.strictObject({
  text: text(40_000),
  blocks: v.tuple([
    v.strictObject({ type: v.literal("section"), text: slackText("mrkdwn", 3_000) }),
    v.strictObject({ type: v.literal("context"), elements: v.array(slackText("plain_text", 3_000)) }),
  ]),
});
/** https://discord.com/developers/docs/resources/webhook#execute-webhook */
const DISCORD = v.strictObject({
  content: text(2_000),
  embeds: v.pipe(
    v.array(
      v.strictObject({
        title: text(256),
        description: text(4_096),
        timestamp: v.pipe(v.string(), v.isoTimestamp()),
        color: v.pipe(v.number(), v.integer(), v.maxValue(0xffffff)),
      }),
    ),
    v.maxLength(10),
  ),
  allowed_mentions: v.strictObject({ parse: v.pipe(v.array(v.string()), v.maxLength(0)) }),
});
/** https://docs.ntfy.sh/publish/#publish-as-json */
const NTFY = v.strictObject({
  topic: v.pipe(v.string(), v.regex(/^[-_A-Za-z0-9]{1,64}$/)),
  title: text(250),
  message: text(4_096),
  priority: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(5)),
  tags: v.array(v.string()),
});
/** postableAlerts in https://github.com/prometheus/alertmanager/blob/main/api/v2/openapi.yaml */
const ALERTS = v.array(
  v.strictObject({
    labels: v.intersect([
      v.looseObject({ alertname: text(100) }),
      v.record(v.pipe(v.string(), v.regex(/^[a-zA-Z_]\w*$/)), text(1_000)),
    ]),
    annotations: v.record(v.string(), v.string()),
    startsAt: v.pipe(v.string(), v.isoTimestamp()),
  }),
);

const LONG = "x".repeat(5_000);
const CALLS: readonly object[] = [
  { userId: "u1", event: "Order Completed", properties: { total: 42.5, plan: "pro", reason: "card expired" } },
  { anonymousId: "a1", event: "Payment Failed" },
  {
    userId: "<!channel> & <@U1>",
    event: "Subscription <!here>|",
    properties: { total: { a: 1 }, plan: 7, reason: false },
  },
  { userId: LONG, event: `Order Completed ${LONG}`, properties: { total: LONG, plan: LONG, reason: LONG } },
];

/** What a destination is sent for each of the calls, with its filters off. */
async function sentBy(destination: Destination): Promise<readonly string[]> {
  const config = { destinations: [{ ...destination, filter: null, types: null, rate: null }] };
  await using d = await startDaemon({ config });
  for (const call of CALLS) assert.equal((await d.call("/v1/track", call)).status, 200);
  return d.sent.map(({ body }) => body);
}

describe("a recipe of docs/recipes, for events", () => {
  const slackNotice = v.pick(SLACK, ["text"]);
  const discordNotice = v.strictObject(v.pick(DISCORD, ["content", "allowed_mentions"]).entries);
  const ntfyNotice = v.strictObject(v.pick(NTFY, ["topic", "message"]).entries);
  const alertsNotice = v.array(v.strictObject({ labels: ALERTS.item.entries.labels }));
  const recipes: readonly (readonly [name: string, shape: v.GenericSchema, notice: v.GenericSchema])[] = [
    ["Slack", SLACK, v.strictObject(slackNotice.entries)],
    ["Discord", DISCORD, discordNotice],
    ["ntfy", NTFY, ntfyNotice],
    ["Alertmanager", ALERTS, alertsNotice],
  ];
  for (const [name, shape, notice] of recipes) {
    it(`tells people by ${name} which user is to be deleted`, async () => {
      await using d = await startDaemon({ config: { destinations: [recipe(name)] } });
      await d.admin("POST", "/api/deletions", { body: { userIds: ["u-4711"] } });
      await d.clock.advance("3s");
      const [{ body = "" } = {}] = d.sent;
      assert.ok(v.is(notice, JSON.parse(body)), body);
      assert.match(body, /u-4711/);
    });

    it(`makes what ${name} takes, whatever is in the call`, async () => {
      const bodies = await sentBy(recipe(name));
      assert.equal(bodies.length, CALLS.length);
      for (const body of bodies) {
        const { success, issues } = v.safeParse(shape, JSON.parse(body));
        assert.ok(
          success,
          `${issues?.map((one) => `${v.getDotPath(one)}: ${one.message}`).join("\n")}\n${body.slice(0, 500)}`,
        );
      }
    });
  }

  it("keeps calls from mentioning people in Slack", async () => {
    for (const body of await sentBy(recipe("Slack"))) {
      const { text, blocks } = v.parse(SLACK, JSON.parse(body));
      assert.doesNotMatch(text + blocks[0].text.text, /[<>]/);
    }
  });

  it("makes what docs/configure/payloads.md shows", async () => {
    const destination = { ...firstOf(PAGE), filter: null };
    await using d = await startDaemon({ config: { destinations: [destination] } });
    await d.call("/v1/track", { userId: "u1", event: "Order Completed", properties: { total: 42 } });
    const [, shown = ""] = /^```json\n(.*)\n```/m.exec(PAGE) ?? [];
    assert.equal(d.sent[0]?.body, shown);
  });
});
