import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import * as v from "valibot";
import { parse } from "yaml";

const FORMS = fileURLToPath(new URL("../../.github/ISSUE_TEMPLATE", import.meta.url));

const text = v.pipe(v.string(), v.minLength(1));
const id = v.pipe(v.string(), v.regex(/^[a-z][a-z0-9_-]*$/));
const validations = v.optional(v.strictObject({ required: v.boolean() }));
const about = { label: text, description: v.optional(text) };

/** The elements of GitHub's issue forms that ours use. GitHub shows no form at all if one of its keys is wrong. */
const element = v.variant("type", [
  v.strictObject({ type: v.literal("markdown"), attributes: v.strictObject({ value: text }) }),
  v.strictObject({
    ...{ type: v.literal("textarea"), id, validations },
    attributes: v.strictObject({ ...about, placeholder: v.optional(text), render: v.optional(text) }),
  }),
  v.strictObject({
    ...{ type: v.literal("input"), id, validations },
    attributes: v.strictObject({ ...about, placeholder: v.optional(text) }),
  }),
  v.strictObject({
    ...{ type: v.literal("dropdown"), id, validations },
    attributes: v.strictObject({ ...about, options: v.pipe(v.array(text), v.minLength(1)) }),
  }),
  v.strictObject({
    ...{ type: v.literal("checkboxes"), id },
    attributes: v.strictObject({ ...about, options: v.array(v.strictObject({ label: text })) }),
  }),
]);

const form = v.strictObject({
  name: text,
  description: text,
  labels: v.optional(v.array(text)),
  body: v.pipe(v.array(element), v.minLength(1)),
});

const chooser = v.strictObject({
  blank_issues_enabled: v.boolean(),
  contact_links: v.array(v.strictObject({ name: text, url: v.pipe(v.string(), v.url()), about: text })),
});

describe("the issue forms", () => {
  const files = readdirSync(FORMS).toSorted();

  it("are a form for bugs, one for features, and the page that offers them", () => {
    assert.deepEqual(files, ["bug.yml", "config.yml", "feature.yml"]);
  });

  for (const file of files) {
    it(`are what GitHub reads: ${file}`, () => {
      const content: unknown = parse(readFileSync(join(FORMS, file), "utf8"));
      v.parse<v.GenericSchema>(file === "config.yml" ? chooser : form, content);
    });
  }

  it("name each field once, and ask for something", () => {
    for (const file of files.filter((name) => name !== "config.yml")) {
      const { body } = v.parse(form, parse(readFileSync(join(FORMS, file), "utf8")));
      const ids = body.flatMap((one) => ("id" in one ? [one.id] : []));
      assert.ok(ids.length > 0, file);
      assert.equal(new Set(ids).size, ids.length, file);
    }
  });
});

describe("`make` alone", () => {
  const makefile = readFileSync(fileURLToPath(new URL("../../Makefile", import.meta.url)), "utf8");

  it("explains each task in a group, on a line of 100 columns at most", () => {
    const explained = [...makefile.matchAll(/^([a-z-]+):.* ## (.*)$/gm)];
    assert.ok(explained.length > 15);
    const wrong = explained.filter(([, , text = ""]) => !/^[a-z ]+: .{1,79}$/.test(text)).map(([, name]) => name);
    assert.deepEqual(wrong, []);
  });
});
