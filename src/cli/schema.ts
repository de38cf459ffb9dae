import example from "../../config.example.yaml" with { type: "text" };
import reference from "../../docs/config.md" with { type: "text" };
import { configJsonSchema } from "../config/json-schema.ts";
import { print } from "../runtime/output.ts";
import { EXIT, type ExitCode } from "./exit.ts";

export type SchemaOptions = { readonly example?: boolean; readonly reference?: boolean };

/**
 * `fairlead schema`: prints the JSON Schema of the config file, its example or its reference. `make example reference`
 * writes the two texts from the schema; the binary holds them as they are.
 */
export function schema(options: SchemaOptions): ExitCode {
  print(textOf(options).trimEnd());
  return EXIT.done;
}

function textOf(options: SchemaOptions): string {
  if (options.example) return example;
  return options.reference ? reference : JSON.stringify(configJsonSchema(), null, 2);
}
