import type { Command } from "commander";
import { CALL_TYPES, type Event, type EventType } from "../model/event.ts";
import { parseExactly } from "../model/json.ts";
import { MB } from "../model/units.ts";
import { print } from "../runtime/output.ts";
import { writeBody } from "../webhook/body.ts";
import { sign, verify } from "../webhook/signature.ts";
import { complain, type Done, EXIT, type ExitCode, wrongUsage } from "./command.ts";
import { addHelp, type HelpText } from "./help.ts";
import { readSharedSecret, readTyped, SECRET_FILE_OPTION } from "./input.ts";
import { paint } from "./paint.ts";

/** `fairlead verify`: checks or creates the X-Signature of a webhook's body, for people who write receivers. */
export function declareVerify(program: Command, done: Done): void {
  const command = program
    .command("verify")
    .summary("check or make the signature of a webhook's body")
    .description("Check the X-Signature of a webhook's body, or print the signature that it should have.")
    .option("--body <file>", "the body, byte for byte (default: standard input)")
    .option("--signature <hex>", "the X-Signature to check; without it, the right one is printed")
    .option(...SECRET_FILES_OPTION)
    .option("--json", "print the result as JSON");
  addHelp(command, HELP).action((options: VerifyOptions) => done(verifyBody(options)));
}

const SECRET_FILES_OPTION = [
  SECRET_FILE_OPTION[0],
  `${SECRET_FILE_OPTION[1]}; can be repeated, the signing secret first`,
  (file: string, before: readonly string[] = []): readonly string[] => [...before, file],
] as const;

const HELP: HelpText = {
  examples: [
    "FAIRLEAD_SECRET=change-me fairlead verify --body body.json",
    "fairlead verify --secret-file key --body body.json --signature $SIGNATURE",
  ],
  notes: "Exit codes: 0 the signature is right, 1 it is wrong, 2 it cannot be checked.",
  moreExamples: [
    `printf '%s' '{"type":"track"}' | fairlead verify --signature 8bddb838687cef94a46114b4e5355402ab17b51f`,
    `curl --data-binary @body.json -H "X-Signature: $(fairlead verify --body body.json)" http://127.0.0.1:9000/hooks`,
  ],
};

type VerifyOptions = {
  readonly body?: string;
  readonly signature?: string;
  readonly secretFile?: readonly string[];
  readonly json?: boolean;
};

/** Far more than Fairlead sends. */
const MOST_BYTES = 16 * MB;

async function verifyBody({ body: file, signature, secretFile, json }: VerifyOptions): Promise<ExitCode> {
  const secrets = readSecrets(secretFile ?? [undefined]);
  if (typeof secrets === "string") return complain(wrongUsage(secrets));
  const { secret, others } = secrets;
  const body = await readTyped(file ?? null, { what: "the body", most: MOST_BYTES });
  if (!body.ok)
    return complain(wrongUsage(`cannot read ${file === undefined ? "standard input" : `--body ${file}`}: ${body.why}`));
  if (signature === undefined) {
    const made = sign(body.bytes, secret);
    print(json ? JSON.stringify({ signature: made }) : made);
    return EXIT.done;
  }
  const result = compare({ body: body.bytes, signature, secret, others });
  print(json ? JSON.stringify(result) : toWords(result));
  return result.valid ? EXIT.done : EXIT.failed;
}

type FoundSecret = { readonly from: string; readonly secret: string };

/** The signing secret and the others of its list. An error as text. */
function readSecrets(files: readonly (string | undefined)[]): Required<Pick<Claim, "secret" | "others">> | string {
  const found: FoundSecret[] = [];
  for (const file of files) {
    const secret = readSharedSecret(file);
    if (secret === null) return "there is no secret: set $FAIRLEAD_SECRET, or name a file with --secret-file";
    if (typeof secret === "string") return secret;
    found.push({ from: file ?? "$FAIRLEAD_SECRET", secret: secret.reveal() });
  }
  const [first, ...others] = found;
  return { secret: first?.secret ?? "", others };
}

function toWords(result: Comparison): string {
  if (result.valid) return paint.good("ok");
  const { expected, hint } = result;
  return `${paint.bad("wrong")}: the signature of this body with this secret is ${expected}${hint === undefined ? "" : `\nhint: ${hint}`}`;
}

type Claim = {
  readonly body: Uint8Array;
  readonly signature: string;
  /** The signing secret. */
  readonly secret: string;
  /** The others of its list. */
  readonly others?: readonly FoundSecret[];
};

/** `expected`: the right signature. `hint`: the likely mistake. */
type Comparison =
  | { readonly valid: true }
  | { readonly valid: false; readonly expected: string; readonly hint: string | undefined };

/** Compares a signature byte for byte (SPEC.md 5.4), and looks for the most common mistakes of receivers. */
export function compare(claim: Claim): Comparison {
  if (verify(claim.body, claim.signature, claim.secret)) return { valid: true };
  return { valid: false, expected: sign(claim.body, claim.secret), hint: hintFor(claim) };
}

function hintFor({ body, signature, secret, others = [] }: Claim): string | undefined {
  const meant = signature
    .trim()
    .replace(/^(x-signature:\s*)?(sha1=)?/i, "")
    .toLowerCase();
  if (verify(body, meant, secret))
    return "it is right, but written differently: a signature is 40 lowercase hexadecimal digits and nothing else";
  if (!/^[\da-f]{40}$/.test(meant))
    return "a signature is 40 lowercase hexadecimal digits: the whole value of X-Signature";
  const other = others.find((one) => verify(body, meant, one.secret));
  if (other) return `it was made with the secret in ${other.from}, but Fairlead signs with the first of a list`;
  if (body.length === 0) return "the body is empty";
  return hintForText(Buffer.from(body).toString(), (text) => verify(text, meant, secret));
}

/** Looks for what changed the body in transit. */
function hintForText(text: string, isRight: (text: string) => boolean): string | undefined {
  const trimmed = text.replace(/\r?\n$/, "");
  if (isRight(trimmed)) return NEWLINE;
  const parsed = parseJson(trimmed);
  if (parsed === null) return undefined;
  if (isRight(parsed.rewritten)) return REWRITTEN;
  const ordered = inWrittenOrder(parsed.value);
  if (ordered === null) return undefined;
  return isRight(ordered) ? REORDERED : OTHER_ORDER;
}

const NEWLINE = "it is right for the body without its last newline; echo adds one, printf '%s' does not";
const KEEP = "keep the bytes of the body as received, and parse them after the check";
const REWRITTEN = `it is right for this JSON without its spaces: ${KEEP}`;
const REORDERED = `it is right for this JSON with its keys in Fairlead's order: ${KEEP}`;
const OTHER_ORDER = `the keys of this JSON are not in Fairlead's order: ${KEEP}`;

/** Null if it is not JSON, or nests too deeply to be serialised. */
function parseJson(text: string): { readonly value: unknown; readonly rewritten: string } | null {
  try {
    const value = parseExactly(text);
    return { value, rewritten: JSON.stringify(value) };
  } catch {
    return null;
  }
}

/**
 * The same JSON with its top-level keys in Fairlead's order. Null if they already are, or if it is not a body of Fairlead.
 */
export function inWrittenOrder(value: unknown): string | null {
  const type = typeof value === "object" && value !== null && "type" in value ? value.type : null;
  const known = TYPES.find((one) => one === type);
  if (known === undefined) return null;
  const order = Object.keys(JSON.parse(writeBody(fullEvent(known))));
  const rank = ([name]: Entry): number => (order.includes(name) ? order.indexOf(name) : order.length);
  const entries: readonly Entry[] = Object.entries(Object(value));
  const ordered = entries.toSorted((one, other) => rank(one) - rank(other));
  return ordered.every((entry, index) => entry === entries[index]) ? null : JSON.stringify(Object.fromEntries(ordered));
}

type Entry = readonly [name: string, value: unknown];

const TYPES: readonly EventType[] = [...CALL_TYPES, "delete"];

/** An event with every field, so that its body has every key. */
function fullEvent(type: EventType): Event {
  const ids = { messageId: "-", ownId: false, userId: "-", anonymousId: "-", previousId: "-", groupId: "-" };
  const words = { event: "-", name: "-", category: "-", channel: "-" };
  const objects = { properties: {}, traits: {}, context: {}, integrations: {} };
  return { type, ...ids, ...words, ...objects, timestamp: "-", originalTimestamp: "-", sentAt: "-", receivedAt: 0 };
}
