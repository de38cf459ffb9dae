// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references, as a config file has them.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { beginCommand, type Ended, SLOW } from "./run.ts";

const FOLDER = mkdtempSync(join(tmpdir(), "fairlead-route-"));
const FILE = join(FOLDER, "config.yaml");
after(() => rmSync(FOLDER, { recursive: true }));

const CONFIG = `sources:
  old: { writeKey: "\${credential:old-key}", enabled: false }
  website: { writeKey: "\${credential:website-key}" }
  app: { writeKey: abc }
destinations:
  crm:
    events: [Order *]
    where: { properties.total: { gte: 100 } }
    webhooks: [{ url: https://crm.example.com }]
  lake:
    sources: [app]
    webhooks: [{ url: https://lake.example.com }]
`;

function route(args: readonly string[], config = CONFIG): Promise<Ended> {
  writeFileSync(FILE, config, { mode: 0o600 });
  return beginCommand(["route", ...args, "--config", FILE], { CREDENTIALS_DIRECTORY: "" }).ended;
}

describe("fairlead route", SLOW, () => {
  it("says who would get a call, and why the others would not, without the credentials of the unit", async () => {
    const { code, out, err } = await route(["track", "--event", "Order Completed", "--properties", '{"total":42}']);
    assert.deepEqual([code, err], [0, ""]);
    assert.equal(
      out,
      [
        "A track call from website:",
        "  crm   does not  properties.total is 42: at least 100 is wanted (condition_not_met)",
        "  lake  does not  the source is website: app is wanted (source_not_selected)",
        "",
      ].join("\n"),
    );
  });

  it("prints the same as JSON, of a whole call and another source", async () => {
    const call = { type: "track", userId: "u1", event: "Order \u001b[2J", properties: { total: 100 } };
    const { out } = await route(["--data", JSON.stringify(call), "--source", "app", "--json"]);
    assert.deepEqual(JSON.parse(out), {
      source: "app",
      results: [
        { destination: "crm", gets: true, rule: null, why: "it meets `events` and `where`", body: null },
        { destination: "lake", gets: true, rule: null, why: "no rule excludes it", body: null },
      ],
    });
  });

  it("shows the payload of a destination with a template", async () => {
    const config = CONFIG.replace(
      "    sources: [app]\n",
      '    body: { template: { text: "{{ user }}: {{ event }}" } }\n',
    );
    const { out } = await route(["track", "--event", "Order", "--user", "u1"], config);
    assert.match(
      out,
      /\n {2}lake {2}gets it {3}no rule excludes it\n\nlake would get, by its template:\n {2}\{\n {4}"text": "u1: Order"\n {2}\}\n$/,
    );
  });

  it("shows nothing of a call that a terminal would act on", async () => {
    const { out } = await route(["track", "--event", "Cart \u001b[2J\u202e"]);
    for (const unsafe of ["\u001b", "\u202e"]) assert.ok(!out.includes(unsafe), JSON.stringify(out));
    assert.match(out, /event is "Cart /);
  });

  it("refuses what the daemon would refuse, with its code", async () => {
    const { code, out, err } = await route(["--data", '{"type":"track","userId":"u1"}', "--json"]);
    assert.deepEqual([code, out], [1, ""]);
    assert.equal(JSON.parse(err).code, "missing_event");
  });

  it("says what is wrong with its arguments", async () => {
    const table: readonly [args: readonly string[], message: RegExp][] = [
      [[], /^fairlead: name the type of call: identify, track, page, screen, group, alias$/m],
      [["--data", '{"userId":"u1"}'], /^fairlead: name the type of call/m],
      [["--data", "{"], /--data:1:2: is not JSON/],
      [["track", "--source", "websit"], /^fairlead: the config has no source websit: did you mean website\?$/m],
      [["track", "--source", "shop"], /^fairlead: the config has no source shop: there are old, website, app$/m],
      [["track", "--source", "old"], /^fairlead: the source old is disabled, so its calls are refused$/m],
    ];
    for (const [args, message] of table) {
      const { code, err } = await route(args);
      assert.equal(code, 2, err);
      assert.match(err, message);
    }
  });

  it("prints the errors of a config that cannot be used", async () => {
    const { code, err } = await route(["track"], CONFIG.replace("gte", "atleast"));
    assert.equal(code, 78);
    assert.match(err, /config\.yaml:8:\d+: destinations\.crm\.where\["properties\.total"\]\.atleast: is not known/);
  });

  it("says so when there are no destinations", async () => {
    const { out } = await route(["page"], CONFIG.slice(0, CONFIG.indexOf("destinations")));
    assert.equal(out, "No destination would get a page call from website: the config has none.\n");
  });
});
