import type { Command } from "commander";
import { createResolve } from "../runtime/config-files.ts";
import { openerOf, placeHere, startOpener } from "../runtime/desktop.ts";
import { print, printError } from "../runtime/output.ts";
import { complain, type Done, EXIT, type ExitCode, failed } from "./command.ts";
import { addDaemonOptions, type DaemonOptions, findAddress } from "./daemon.ts";
import { addHelp, type HelpText } from "./help.ts";

/** `fairlead open`: prints the address of the dashboard, and opens it on a desktop. */
export function declareOpen(program: Command, done: Done): void {
  const command = program
    .command("open")
    .summary("open the dashboard in the browser")
    .description("Print the address of the dashboard. On a desktop, open it in the browser.")
    .option("--print", "only print the address");
  addHelp(addDaemonOptions(command), HELP).action((options: OpenOptions) => done(open(options)));
}

const HELP: HelpText = {
  examples: ["fairlead open", "fairlead open --print"],
  notes: `If the operator's API listens on a Unix socket, or if you are connected by ssh, it prints how to reach the dashboard from your machine. The page asks for the token itself.`,
};

type OpenOptions = DaemonOptions & { readonly print?: boolean };

async function open(options: OpenOptions): Promise<ExitCode> {
  const found = findAddress(options, createResolve());
  if ("code" in found) return complain(found);
  const { base, from, dashboard } = found;
  if (!dashboard) return complain({ ...failed(OFF), error: "dashboard_off" });
  const place = placeHere();
  if (base.startsWith("unix:")) {
    print(socketWords(base.slice("unix:".length), place.host));
    return EXIT.done;
  }
  const address = `${base}/`;
  print(address);
  const tunnel = place.env.SSH_CONNECTION ? tunnelWords(base, place.host) : null;
  if (tunnel !== null) printError(`${tunnel}\n`);
  const opener = options.print ? null : openerOf(place);
  if (opener === null) return EXIT.done;
  const why = await startOpener(opener, address);
  if (why !== null) printError(`fairlead: cannot open a browser: ${why}; open ${address} (${from}) yourself\n`);
  return EXIT.done;
}

const OFF = "the dashboard is off: admin.dashboard is false in the config; set it to true";

const PORT = "8081";

/** How to reach a dashboard at a Unix socket, which no browser opens. Exported for its test. */
export function socketWords(path: string, host: string): string {
  return `The dashboard is on the Unix socket ${path}. On the machine with the browser, run
  ssh -N -L ${shellWord(`${PORT}:${path}`)} ${host}
and open http://localhost:${PORT}/. To test the socket here:
  curl --unix-socket ${shellWord(path)} http://localhost/readyz`;
}

/** How to reach one that only this machine reaches; null for others. Exported for its test. */
export function tunnelWords(base: string, host: string): string | null {
  const { hostname: name = "", port = "", protocol = "" } = URL.parse(base) ?? {};
  if (protocol !== "http:" || !/^(localhost|127(\.\d+){3}|\[::1\])$/.test(name)) return null;
  const target = `${port || "80"}:${name}:${port || "80"}`;
  return `From your own machine: run ssh -N -L ${shellWord(target)} ${host}, then open http://localhost:${port || "80"}/`;
}

/** Quoted where a shell would read it as something else. */
function shellWord(text: string): string {
  return /^[\w./:@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
