import type { Command } from "commander";
import { type AdminPart, type PartFault, readAdminPart } from "../../config/parts.ts";
import { quote } from "../../config/problems.ts";
import type { Resolve } from "../../model/ports.ts";
import { Secret } from "../../model/secret.ts";
import type { Complaint } from "../complain.ts";
import { CONFIG_OPTION, complaintOfFile, openConfigFile } from "../config-file.ts";
import { EXIT } from "../exit.ts";
import { BASE_FORMS, baseOf, readBase } from "../reach.ts";

/** A running daemon, as the operator's commands reach it. */
export type Daemon = {
  /** Where its operator's API is, as `http://127.0.0.1:8081` or `unix:/path`. */
  readonly base: string;
  /** Where that comes from, as `--admin` or `admin.listen of config.yaml`. */
  readonly from: string;
  readonly token: Token | null;
};

/** What the operator's API wants to see, and where it comes from, as `$FAIRLEAD_ADMIN_TOKEN`. */
export type Token = { readonly secret: Secret; readonly from: string };

export type DaemonOptions = { readonly admin?: string; readonly config?: string };

/** Adds the options of every command that talks to a running daemon. */
export function addDaemonOptions(command: Command): Command {
  return command
    .optionsGroup("The daemon:")
    .option(
      "--admin <url>",
      "its operator's API: http://host:port or unix:/path (else $FAIRLEAD_ADMIN, else admin.listen of the config)",
    )
    .option(...CONFIG_OPTION)
    .addHelpText("after", TOKEN_HELP);
}

const TOKEN_HELP = `
If it wants a token, that is $FAIRLEAD_ADMIN_TOKEN, else admin.token of the
config; with an address from elsewhere, only of one that --config names.`;

/**
 * Finds the running daemon, and the token for it: in `$FAIRLEAD_ADMIN_TOKEN`, else in the config. There is no option for
 * the token: everybody on the machine could read it in the list of processes. A config that nobody named says nothing
 * about an address that somebody did: its token stays at home.
 */
export function findDaemon(options: DaemonOptions, resolve: Resolve): Daemon | Complaint {
  const said = saidAddress(options, resolve);
  if (said === null) return fromConfig(options, resolve);
  const base = readBase(said.text);
  if (base === null) return usage(`${said.from} must be ${BASE_FORMS} (got ${quote(said.text)})`);
  const daemon = { base, from: said.from };
  const token = tokenOf(resolve);
  if (token !== null || options.config === undefined) return sendable({ ...daemon, token });
  const config = openConfig(options.config, resolve);
  return "code" in config ? config : withToken(daemon, config);
}

/** Whether the daemon was named by its address: it may be another one than that of the config here. */
export function isSaidElsewhere(options: DaemonOptions, resolve: Resolve): boolean {
  return saidAddress(options, resolve) !== null;
}

function saidAddress(
  { admin }: DaemonOptions,
  { env }: Resolve,
): { readonly text: string; readonly from: string } | null {
  if (admin !== undefined) return { text: admin, from: "--admin" };
  const text = env("FAIRLEAD_ADMIN");
  // Empty is as good as not set, as in a shell.
  return text ? { text, from: "$FAIRLEAD_ADMIN" } : null;
}

function fromConfig(options: DaemonOptions, resolve: Resolve): Daemon | Complaint {
  const config = openConfig(options.config, resolve);
  if ("code" in config) return config;
  const found = config.admin.listen();
  if ("faulty" in found) return complaintOf(found);
  const base = baseOf(found.listen);
  if (base === null) return usage(NO_PORT);
  const from = found.written ? `admin.listen of ${config.file}` : `the default, as ${config.file} has no admin.listen`;
  const token = tokenOf(resolve);
  return token === null ? withToken({ base, from }, config) : sendable({ base, from, token });
}

const NO_PORT =
  "admin.listen has port 0, which is another one at each start; give the address that `fairlead serve` printed with --admin";

type OpenConfig = { readonly file: string; readonly admin: AdminPart };

function openConfig(said: string | undefined, resolve: Resolve): OpenConfig | Complaint {
  const opened = openConfigFile(said);
  if (opened.kind === "read") return { file: opened.file, admin: readAdminPart({ ...opened, resolve }) };
  return complaintOfFile(opened, "or do without: say where the daemon is with --admin");
}

function tokenOf({ env }: Resolve): Token | null {
  const value = env("FAIRLEAD_ADMIN_TOKEN");
  return value ? { secret: new Secret(value), from: "$FAIRLEAD_ADMIN_TOKEN" } : null;
}

function withToken(daemon: Omit<Daemon, "token">, { file, admin }: OpenConfig): Daemon | Complaint {
  const secret = admin.token();
  if (secret === null) return { ...daemon, token: null };
  if (secret instanceof Secret) return sendable({ ...daemon, token: { secret, from: `admin.token of ${file}` } });
  return { code: EXIT.config, message: `${secret.message}\nor give the token in $FAIRLEAD_ADMIN_TOKEN` };
}

function complaintOf({ message }: PartFault): Complaint {
  return { code: EXIT.config, message };
}

/** A header can hold no more than this, and the daemon takes what stands before a space. */
function sendable(daemon: Daemon): Daemon | Complaint {
  const { token } = daemon;
  if (token === null || /^[!-~]+$/.test(token.secret.reveal())) return daemon;
  return usage(`${token.from} cannot be sent: a token is made of letters, digits and signs of ASCII, without spaces`);
}

function usage(message: string): Complaint {
  return { code: EXIT.usage, message };
}
