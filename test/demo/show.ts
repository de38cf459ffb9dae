import process from "node:process";
import { styleText } from "node:util";
import { print } from "../../src/runtime/output.ts";
import { kindOf, type Webhook } from "./webhook.ts";

type Style = Parameters<typeof styleText>[0];

export function say(text = ""): void {
  print(text);
}

/** Plain where nobody would see the colour. */
export function styled(style: Style, text: string): string {
  return styleText(style, text, { stream: process.stdout });
}

/** The kind, the verdict on the signature, and the body. */
export function showWebhook(webhook: Webhook): void {
  const { signature, headers, status, body } = webhook;
  const mark = signature === "ok" ? styled("green", "✓") : styled("red", "✗");
  const kind = kindOf(webhook).padEnd("identify".length);
  const answered = status === 200 ? "" : `, answered ${status}`;
  say(`${mark} ${styled("bold", kind)}  signature ${signature} ${headers["x-signature"] ?? ""}${answered}`);
  for (const line of wrap(body, width() - INDENT.length)) say(styled("dim", `${INDENT}${line}`));
  say();
}

const INDENT = "    ";

function width(): number {
  return Math.max(50, Math.min(process.stdout.columns ?? 100, 120));
}

/** Breaks a JSON object between its keys; inside of a value only if that is longer than a line. */
export function wrap(body: string, most: number): readonly string[] {
  const lines: string[] = [];
  let line = "";
  for (const piece of membersOf(body).flatMap((member) => (member.length > most ? atCommas(member) : [member]))) {
    if (line.length + piece.length > most && line !== "") {
      lines.push(line);
      line = "";
    }
    line += piece;
  }
  return [...lines, line];
}

/** The text of each key with its value, and all that stands between them. */
function membersOf(body: string): readonly string[] {
  const members = Object.entries(JSON.parse(body)).map((member) =>
    member.map((part) => JSON.stringify(part)).join(":"),
  );
  const split = `{${members.join(",\n")}}`.split("\n");
  // What is shown is what came, to the byte.
  return split.join("") === body ? split : atCommas(body);
}

function atCommas(text: string): readonly string[] {
  return text.split(/(?<=,)/);
}
