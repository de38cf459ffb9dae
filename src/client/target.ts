import { InvalidOptionError } from "./errors.ts";
import { base64, createMask, type Mask } from "./mask.ts";
import { show } from "./show.ts";
import { VERSION } from "./version.ts";

/** Where requests go, the headers that they all have, and what hides the write key in what comes back. */
export type Target = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly mask: Mask;
};

type TargetOptions = {
  readonly endpoint?: string | undefined;
  readonly headers?: { readonly [name: string]: string } | undefined;
};

const DEFAULT_ENDPOINT = "http://127.0.0.1:8080";

/** Throws an InvalidOptionError. No message has the write key in it. */
export function readTarget(writeKey: unknown, { endpoint = DEFAULT_ENDPOINT, headers = {} }: TargetOptions): Target {
  if (typeof writeKey !== "string" || writeKey === "") {
    throw new InvalidOptionError("the first argument must be the write key of a source: it is empty, or no text");
  }
  const own = {
    "Content-Type": "application/json",
    "User-Agent": `fairlead-client (version: ${VERSION})`,
    Authorization: `Basic ${base64(`${writeKey}:`)}`,
  };
  for (const [name, value] of Object.entries(headers)) checkHeader(name, value);
  return { url: readUrl(endpoint), headers: { ...headers, ...own }, mask: createMask(writeKey) };
}

function readUrl(endpoint: string): string {
  const url = parse(endpoint);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new InvalidOptionError(`endpoint must be an http or https URL (got ${show(endpoint)})`);
  }
  if (url.username !== "" || url.password !== "") {
    throw new InvalidOptionError("endpoint must not hold a user or a password: no fetch takes them");
  }
  const path = url.pathname.replace(/\/+$/, "");
  url.pathname = `${path.replace(/\/v1(?:\/batch)?$/, "")}/v1/batch`;
  url.hash = "";
  return url.href;
}

function parse(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}

/** What the client itself says, and what belongs to the connection. */
const RESERVED =
  /^(authorization|content-type|content-length|content-encoding|user-agent|host|connection|transfer-encoding|x-retry-count)$/i;

/** One that no request can have would else fail each of them. */
function checkHeader(name: string, value: unknown): void {
  const shown = `headers[${JSON.stringify(name)}]`;
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) throw new InvalidOptionError(`${shown} is no name that a header can have`);
  if (RESERVED.test(name)) throw new InvalidOptionError(`${shown} is set by the client itself`);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a header must not have
  if (typeof value === "string" && !/[\x00-\x08\x0a-\x1f\x7f]|[^\x00-\xff]/.test(value)) return;
  throw new InvalidOptionError(`${shown} has a value that a header cannot have`);
}
