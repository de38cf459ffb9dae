import { type Command, Option } from "commander";
import { type Done, examples } from "./command.ts";
import type { ExitCode } from "./exit.ts";

/** `fairlead schema`: prints what a config file may hold, for editors and for people. */
export function declareSchema(program: Command, done: Done): void {
  program
    .command("schema")
    .description("print the JSON Schema of the config file, for editors that complete and check it")
    .option("--example", "print config.example.yaml, the manual in a file, instead")
    .addOption(new Option("--reference", REFERENCE).conflicts("example"))
    .addHelpText("after", examples("fairlead schema > fairlead.schema.json", "fairlead schema --example > config.yaml"))
    .action((options: SchemaOptions) => done(schema(options)));
}

const REFERENCE = "print the reference of all keys, in Markdown, instead";

type SchemaOptions = { readonly example?: boolean; readonly reference?: boolean };

/** Imported late: no other command has use for what makes a JSON Schema. */
async function schema(options: SchemaOptions): Promise<ExitCode> {
  const { schema } = await import("./schema.ts");
  return schema(options);
}
