// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references, as a config file has them.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { explainYaml } from "../../src/config/explain.ts";
import { formatProblem } from "../../src/config/problems.ts";
import { fieldsOf, render } from "../../src/webhook/template.ts";
import { FILE, load, told } from "./world.ts";

const HEAD =
  "sources: { website: { writeKey: abc } }\ndestinations:\n  crm:\n    webhooks: [{ url: https://a.example.com }]\n";

/** What is said of the body of a destination. */
function toldOf(body: string): readonly string[] {
  return told(load(`${HEAD}    body: ${body}\n`)).map((line) => line.replace("destinations.crm.", ""));
}

describe("the body of a destination", () => {
  it("is that of the specification, unless it has a template", () => {
    for (const text of [HEAD, `${HEAD}    body: default\n`, `${HEAD}    body: {}\n`])
      assert.equal(load(text).config?.destinations[0]?.template, null);
    assert.deepEqual(toldOf("{ template: { text: x } }"), []);
  });

  it("is nothing else", () => {
    const table: readonly (readonly [body: string, message: string])[] = [
      ["defalt", 'body must be default, or a map with a template (got "defalt")'],
      ["5", "body must be default, or a map with a template (got 5)"],
      ["[]", "body must be default, or a map with a template (got an empty list)"],
      ["{ templat: { a: b } }", "body.templat is not a known key: did you mean template?"],
      [
        "{ template: text }",
        'body.template must be a map or a list, which becomes the JSON of the payload (got "text")',
      ],
    ];
    for (const [body, message] of table) assert.deepEqual(toldOf(body), [`error ${message}`]);
  });

  it("may have a template for deletion notices, which have few fields", () => {
    assert.deepEqual(toldOf('{ deletion: { text: "{{ userId }}" } }'), []);
    assert.deepEqual(toldOf('{ deletion: { text: "{{ event }}" } }'), [
      'error body.deletion.text has a field that is not known: known are type, user, userId, source, timestamp (got "{{ event }}")',
    ]);
  });

  it("has each fault of a template told at its place", () => {
    const text = `${HEAD}    body:\n      template:\n        text: "{{ usr }}"\n        list:\n          - "{{ event | nmber: 2 }}"\n`;
    assert.deepEqual(
      load(text).problems.map((problem) => formatProblem(problem).split("\n")[0]),
      [
        `${FILE}:7:15: destinations.crm.body.template.text: has a field that is not known: did you mean user? (got "{{ usr }}")`,
        `${FILE}:9:13: destinations.crm.body.template.list[0]: has a format that is not known: did you mean number? (got "{{ event | nmber: 2 }}")`,
      ],
    );
  });

  it("needs quotes around references", () => {
    assert.deepEqual(toldOf("{ template: { text: {{ event }} } }"), [
      'error body.template.text has {{ without quotes, which is a map for YAML: put the text in quotes, as in "{{ event }}"',
    ]);
  });

  it("may hold variables of the environment, and is explained as it is in force", () => {
    const text = `${HEAD}    body: { template: { topic: "\${TOPIC}", text: "$\${x} {{ event }}", none: {}, list: [] } }\n`;
    const loaded = load(text, { env: { TOPIC: "alerts" } });
    const template = loaded.config?.destinations[0]?.template ?? assert.fail("it does not load");
    const expected = '{"topic":"alerts","text":"${x} E","none":{},"list":[]}';
    assert.equal(render(template, fieldsOf({ event: "E" }, "website")).text, expected);
    const again = load(explainYaml(loaded, FILE));
    assert.deepEqual(again.config?.destinations[0]?.template, template);
  });

  it("does not tell what a variable has brought in", () => {
    const { problems } = load(`${HEAD}    body: { template: { text: "\${KEY}" } }\n`, { env: { KEY: "{{ s3cret }}" } });
    assert.equal(problems.length, 1);
    assert.doesNotMatch(problems.map(formatProblem).join(), /s3cret/);
  });
});
