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
  if (reference) return (await import("../../docs/reference/config.md", { with: { type: "text" } })).default;
  const { configJsonSchema, includedJsonSchema } = await import("../config/json-schema.ts");
  return JSON.stringify(included ? includedJsonSchema() : configJsonSchema(), null, 2);
}
