import { sign, verify } from "../../webhook/signature.ts";

/** Whether a signature is that of a body; if not, the one it should be, and what may have gone wrong. */
export type Comparison =
  | { readonly kind: "ok" }
  | { readonly kind: "wrong"; readonly expected: string; readonly hint: string | null };

export type Claim = { readonly body: Uint8Array; readonly signature: string; readonly secret: string };

/** Compares byte for byte (SPEC.md 5.4), and looks for the mistakes that receivers make most. */
export function compare(claim: Claim): Comparison {
  if (verify(claim.body, claim.signature, claim.secret)) return { kind: "ok" };
  return { kind: "wrong", expected: sign(claim.body, claim.secret), hint: hintFor(claim) };
}

function hintFor({ body, signature, secret }: Claim): string | null {
  const meant = signature
    .trim()
    .replace(/^(x-signature:\s*)?(sha1=)?/i, "")
    .toLowerCase();
  if (verify(body, meant, secret))
    return "it is right but for its form, which is 40 lowercase hexadecimal digits and no more";
  if (!/^[\da-f]{40}$/.test(meant))
    return "a signature is 40 lowercase hexadecimal digits: the whole value of X-Signature";
  const text = Buffer.from(body).toString();
  const trimmed = text.replace(/\r?\n$/, "");
  if (verify(trimmed, meant, secret)) return NEWLINE;
  if (verify(compact(trimmed), meant, secret)) return REWRITTEN;
  return body.length === 0 ? "the body is empty" : null;
}

const NEWLINE = "it is right without the newline at the end of the body; echo adds one, printf '%s' does not";
const REWRITTEN =
  "it is right for this JSON without its spaces: keep the body's bytes as they came, and parse them after checking";

/** As Fairlead writes it. What is no JSON stays as it is. */
function compact(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return text;
  }
}
