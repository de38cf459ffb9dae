import { print } from "../runtime/terminal.ts";
import { runtimeName, VERSION } from "../runtime/version.ts";
import { EXIT, type ExitCode } from "./exit.ts";

/** `fairlead version`: what this binary is. */
export function version(options: { readonly json?: boolean }): ExitCode {
  const runtime = runtimeName();
  const platform = `${process.platform}-${process.arch}`;
  if (options.json) print(JSON.stringify({ version: VERSION, runtime, platform }));
  else print(`fairlead ${VERSION} (${runtime}, ${platform})`);
  return EXIT.done;
}
