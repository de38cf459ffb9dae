import { parseExactly } from "../../model/exact-json.ts";
import { sign, verify } from "../../webhook/signature.ts";
import { inWrittenOrder } from "./key-order.ts";

/** Whether a signature is that of a body; if not, the one it should be, and what may have gone wrong. */
export type Comparison =
  | { readonly kind: "ok" }
  | { readonly kind: "wrong"; readonly expected: string; readonly hint: string | null };

export type Claim = {
  readonly body: Uint8Array;
  readonly signature: string;
  /** The one that signs. */
  readonly secret: string;
  /** The rest of its list, each with where it was found. */
  readonly others?: readonly OtherSecret[];
};

export type OtherSecret = { readonly from: string; readonly secret: string };

/** Compares byte for byte (SPEC.md 5.4), and looks for the mistakes that receivers make most. */
export function compare(claim: Claim): Comparison {
  if (verify(claim.body, claim.signature, claim.secret)) return { kind: "ok" };
  return { kind: "wrong", expected: sign(claim.body, claim.secret), hint: hintFor(claim) };
}

function hintFor({ body, signature, secret, others = [] }: Claim): string | null {
  const meant = signature
    .trim()
    .replace(/^(x-signature:\s*)?(sha1=)?/i, "")
    .toLowerCase();
  if (verify(body, meant, secret))
    return "it is right but for its form, which is 40 lowercase hexadecimal digits and no more";
  if (!/^[\da-f]{40}$/.test(meant))
    return "a signature is 40 lowercase hexadecimal digits: the whole value of X-Signature";
  const other = others.find((one) => verify(body, meant, one.secret));
  if (other) return `it was made with the secret in ${other.from}: of a list, Fairlead signs with the first`;
  if (body.length === 0) return "the body is empty";
  return hintForText(Buffer.from(body).toString(), (text) => verify(text, meant, secret));
}

/** What may have become of the body on its way. */
function hintForText(text: string, isRight: (text: string) => boolean): string | null {
  const trimmed = text.replace(/\r?\n$/, "");
  if (isRight(trimmed)) return NEWLINE;
  const parsed = parse(trimmed);
  if (parsed === null) return null;
  if (isRight(parsed.rewritten)) return REWRITTEN;
  const ordered = inWrittenOrder(parsed.value);
  if (ordered === null) return null;
  return isRight(ordered) ? REORDERED : OTHER_ORDER;
}

const NEWLINE = "it is right without the newline at the end of the body; echo adds one, printf '%s' does not";
const KEEP = "keep the body's bytes as they came, and parse them after checking";
const REWRITTEN = `it is right for this JSON without its spaces: ${KEEP}`;
const REORDERED = `it is right for this JSON with its keys in the order in which Fairlead writes them: ${KEEP}`;
const OTHER_ORDER = `the keys of this JSON are not in the order in which Fairlead writes them: ${KEEP}`;

/** Null for what is no JSON, and for what is nested so deeply that it can be read and not be written again. */
function parse(text: string): { readonly value: unknown; readonly rewritten: string } | null {
  try {
    const value = parseExactly(text);
    return { value, rewritten: JSON.stringify(value) };
  } catch {
    return null;
  }
}
