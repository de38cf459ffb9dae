import assert from "node:assert/strict";
import { EVENT_FIELDS, parseTemplate } from "../../src/config/template.ts";
import type { Template } from "../../src/model/template.ts";

export function templateOf(written: unknown): Template {
  const parsed = parseTemplate(written, EVENT_FIELDS);
  return "template" in parsed ? parsed.template : assert.fail(JSON.stringify(parsed.faults));
}
