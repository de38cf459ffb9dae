import { exampleConfig } from "../config/example.ts";
import { configJsonSchema } from "../config/json-schema.ts";
import { configMarkdown } from "../config/markdown.ts";
import { print } from "../runtime/output.ts";
import { EXIT, type ExitCode } from "./exit.ts";

export type SchemaOptions = { readonly example?: boolean; readonly reference?: boolean };

/** `fairlead schema`: prints the JSON Schema of the config file, its manual, which is itself a config, or its reference. */
export function schema(options: SchemaOptions): ExitCode {
  print(textOf(options).trimEnd());
  return EXIT.done;
}

function textOf({ example, reference }: SchemaOptions): string {
  if (example) return exampleConfig();
  return reference ? configMarkdown() : JSON.stringify(configJsonSchema(), null, 2);
}
