import { type Command, Option } from "commander";
import { print } from "../runtime/output.ts";
import { type Done, EXIT, type ExitCode } from "./command.ts";
import { addHelp } from "./help.ts";

/** `fairlead schema`: prints the schema of the config file, for editors and for people. */
export function declareSchema(program: Command, done: Done): void {
  const command = program
    .command("schema")
    .summary("print the config's JSON Schema, example or reference")
    .description("Print the JSON Schema of the config file, with which editors complete and check it.")
    .addOption(new Option("--included", INCLUDED).conflicts(["example", "reference"]))
    .option("--example", "print config.example.yaml instead: every key, explained")
    .addOption(new Option("--reference", REFERENCE).conflicts("example"));
  addHelp(command, {
    examples: ["fairlead schema > fairlead.schema.json", "fairlead schema --example > config.yaml"],
  }).action((options: SchemaOptions) => done(schema(options)));
}

const INCLUDED = "print the JSON Schema of included files";
const REFERENCE = "print the reference of all keys, in Markdown, instead";

type SchemaOptions = { readonly included?: boolean; readonly example?: boolean; readonly reference?: boolean };

async function schema(options: SchemaOptions): Promise<ExitCode> {
  print((await textOf(options)).trimEnd());
  return EXIT.done;
}

/**
 * `make example reference` writes the two texts from the schema, and the binary embeds them. They and the JSON Schema
 * generator are imported late: no other command needs them.
 */
async function textOf({ included, example, reference }: SchemaOptions): Promise<string> {
  if (example) return (await import("../../config.example.yaml", { with: { type: "text" } })).default;
  if (reference) return asOnePage(await Promise.all(REFERENCE_PAGES.map(async (load) => (await load()).default)));
  const { configJsonSchema, includedJsonSchema } = await import("../config/json-schema.ts");
  return JSON.stringify(included ? includedJsonSchema() : configJsonSchema(), null, 2);
}

/** The pages of the reference, in the order of the config. */
const REFERENCE_PAGES = [
  () => import("../../docs/reference/config/index.md", { with: { type: "text" } }),
  () => import("../../docs/reference/config/ingest.md", { with: { type: "text" } }),
  () => import("../../docs/reference/config/admin.md", { with: { type: "text" } }),
  () => import("../../docs/reference/config/outbox.md", { with: { type: "text" } }),
  () => import("../../docs/reference/config/delivery.md", { with: { type: "text" } }),
  () => import("../../docs/reference/config/log.md", { with: { type: "text" } }),
  () => import("../../docs/reference/config/sources.md", { with: { type: "text" } }),
  () => import("../../docs/reference/config/destinations.md", { with: { type: "text" } }),
  () => import("../../docs/reference/config/webhooks.md", { with: { type: "text" } }),
  () => import("../../docs/reference/config/include.md", { with: { type: "text" } }),
  () => import("../../docs/reference/config/notify.md", { with: { type: "text" } }),
] as const;

/** Joins the pages. Links between them become links within the page. */
function asOnePage(pages: readonly string[]): string {
  const texts = pages.map((text) => text.replace(/^<!--.*-->\n+/, ""));
  return texts.join("\n").replace(/\]\((\w+)\.md(#[^)]*)?\)/g, (_, page, anchor = `#${page}`) => `](${anchor})`);
}
