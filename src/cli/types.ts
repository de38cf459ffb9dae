import type { Command } from "commander";
import { MB } from "../model/units.ts";
import { print } from "../runtime/output.ts";
import { complain, type Done, EXIT, type ExitCode, failed, wrongUsage } from "./command.ts";
import { addHelp, type HelpText } from "./help.ts";
import { decodeText, readObject, readTyped } from "./input.ts";
import { toProblems } from "./types/places.ts";
import { readPlan } from "./types/plan.ts";
import { writeTypes } from "./types/typescript.ts";

/** `fairlead types`: writes the types of a tracking plan, for programs that use the client library. */
export function declareTypes(program: Command, done: Done): void {
  const command = program
    .command("types")
    .summary("turn a tracking plan into TypeScript types")
    .description("Print the events and traits of a tracking plan as TypeScript types, for the client library.")
    .argument("<plan>", "the plan, a JSON file; - for standard input");
  addHelp(command, HELP).action((plan: string) => done(printTypes(plan)));
}

const HELP: HelpText = {
  examples: ["fairlead types plan.json > src/plan.ts", "curl -s https://plans.example.com/web.json | fairlead types -"],
  notes: `A plan has a JSON Schema for the properties of each event, and optionally for the traits of users and of groups. Plans of Segment and RudderStack are read too.

  {
    "events": {
      "Order Completed": {
        "properties": { "total": { "type": "number" } },
        "required": ["total"]
      },
      "Logged Out": null
    },
    "traits": { "properties": { "email": { "type": "string" } } }
  }

A program uses the types as new Analytics<Events, Traits>("WRITE_KEY").`,
};

const MOST_BYTES = 16 * MB;

async function printTypes(path: string): Promise<ExitCode> {
  const from = path === "-" ? "standard input" : path;
  const input = await readTyped(path === "-" ? null : path, { what: "the plan", most: MOST_BYTES });
  if (!input.ok) return complain(wrongUsage(`cannot read ${from}: ${input.why}`));
  const text = decodeText(input.bytes);
  if (text === null) return complain(wrongUsage(`cannot use ${from}: it is not UTF-8 text`));
  const made = makeTypes(text, from);
  if (!made.ok) return complain(failed(made.why));
  print(made.text.trimEnd());
  return EXIT.done;
}

type Made = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly why: string };

/** `from` names the plan in its errors, which are all reported, each with its place. */
export function makeTypes(text: string, from: string): Made {
  const whole = text.replace(/^\uFEFF/, "");
  const value = readObject(whole, from);
  if (typeof value === "string") return { ok: false, why: value };
  const plan = readPlan(value);
  const types = writeTypes(plan, value, from);
  const faults = [...plan.faults, ...types.faults];
  if (faults.length > 0) return { ok: false, why: toProblems(faults, { text: whole, file: from }).join("\n") };
  return { ok: true, text: types.text };
}
