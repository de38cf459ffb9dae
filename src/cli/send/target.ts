import { type PartFault, type PartsInput, readIngestPart, readWriteKey } from "../../config/parts.ts";
import { quote } from "../../config/problems.ts";
import type { Resolve } from "../../model/ports.ts";
import type { Secret } from "../../model/secret.ts";
import { type Complaint, EXIT, wrongUsage } from "../command.ts";
import { complaintOfFile, openConfigFile } from "../config-file.ts";
import { BASE_FORMS, baseOf, readBase } from "../daemon.ts";
import { readSecret } from "../input.ts";

/** The daemon's address, as `http://127.0.0.1:8080` or `unix:/path`, and the write key. */
export type Target = { readonly base: string; readonly writeKey: Secret };

export type TargetOptions = {
  readonly config?: string;
  readonly source?: string;
  readonly url?: string;
  readonly writeKeyFile?: string;
};

/** Finds the daemon and the write key: in the config, or from `--url` and a secret. */
export function findTarget(options: TargetOptions, resolve: Resolve): Target | Complaint {
  return options.url === undefined ? fromConfig(options, resolve) : fromUrl(options.url, options, resolve);
}

function fromConfig({ config, source, writeKeyFile }: TargetOptions, resolve: Resolve): Target | Complaint {
  if (writeKeyFile !== undefined)
    return wrongUsage("--write-key-file needs --url; otherwise the write key comes from the config");
  const opened = openConfig(config, resolve);
  if ("code" in opened) return opened;
  const ingest = readIngestPart(opened);
  if ("faulty" in ingest) return complaintOf(ingest);
  if (ingest.tls) return wrongUsage(NO_HOST);
  const base = baseOf(ingest.listen);
  if (base === null) return wrongUsage(NO_PORT);
  const writeKey = readWriteKey(source, opened);
  return "faulty" in writeKey ? complaintOf(writeKey) : { base, writeKey };
}

const NO_PORT =
  "ingest.listen has port 0, so the port changes at each start; give --url the address that fairlead serve printed, and --source";

const NO_HOST =
  "ingest.tls is set, so the host must be one that the certificate names; give --url https://host:port, and --source";

function openConfig(named: string | undefined, resolve: Resolve): PartsInput | Complaint {
  const file = openConfigFile(named);
  if (file.kind === "read") return { ...file, resolve };
  return complaintOfFile(file, "or use --url and $FAIRLEAD_WRITE_KEY");
}

function complaintOf({ faulty, message }: PartFault): Complaint {
  return { code: faulty === "name" ? EXIT.usage : EXIT.config, message };
}

function fromUrl(url: string, options: TargetOptions, resolve: Resolve): Target | Complaint {
  const base = readBase(url);
  if (base === null) return wrongUsage(`--url must be ${BASE_FORMS} (got ${quote(url)})`);
  const writeKey = findWriteKey(options, resolve);
  return "code" in writeKey ? writeKey : { base, writeKey };
}

function findWriteKey({ config, source, writeKeyFile }: TargetOptions, resolve: Resolve): Secret | Complaint {
  if (writeKeyFile !== undefined && source !== undefined) return wrongUsage(TWO_KEYS);
  if (writeKeyFile === undefined && (config !== undefined || source !== undefined)) {
    const opened = openConfig(config, resolve);
    if ("code" in opened) return opened;
    const key = readWriteKey(source, opened);
    return "faulty" in key ? complaintOf(key) : key;
  }
  const place = { option: "--write-key-file", file: writeKeyFile, variable: "FAIRLEAD_WRITE_KEY" };
  const key = readSecret(place, resolve);
  if (key === null) return wrongUsage(KEYLESS);
  return typeof key === "string" ? wrongUsage(key) : key;
}

const TWO_KEYS = "--source and --write-key-file both select a write key: use only one of them";
const KEYLESS = "--url needs a write key: set $FAIRLEAD_WRITE_KEY, or use --write-key-file or --source";
