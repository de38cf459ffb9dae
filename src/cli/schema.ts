import { exampleConfig } from "../config/example.ts";
import { configJsonSchema } from "../config/json-schema.ts";
import { print } from "../runtime/terminal.ts";
import { EXIT, type ExitCode } from "./exit.ts";

export type SchemaOptions = { readonly example?: boolean };

/** `fairlead schema`: prints the JSON Schema of the config file, or its manual, which is itself a config. */
export function schema({ example }: SchemaOptions): ExitCode {
  print(example ? exampleConfig().trimEnd() : JSON.stringify(configJsonSchema(), null, 2));
  return EXIT.done;
}
