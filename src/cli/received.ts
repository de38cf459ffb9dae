import { printable } from "./printable.ts";

/** A webhook as `fairlead listen` got it. */
export type Received = {
  readonly nth: number;
  /** Wall time, in milliseconds since 1970. */
  readonly at: number;
  /** The status it was answered with. */
  readonly status: number;
  readonly request: Request;
  readonly body: string;
  /** `absent`: the request has none; `unchecked`: it has one, and the secret is not known. */
  readonly signature: "ok" | "wrong" | "absent" | "unchecked";
};

/** For a person: a line that sums it up, and the body as it came. */
export function toLines({ nth, at, status, request, body, signature }: Received): string {
  const time = new Date(at).toISOString().slice(11, 23);
  const path = new URL(request.url).pathname;
  return `#${nth} ${time} ${typeOf(body)} at ${path}, signature ${signature}, answered ${status}\n   ${printable(body)}`;
}

/** For a program: one JSON object on one line. */
export function toJsonLine({ nth, at, status, request, body, signature }: Received): string {
  const headers = Object.fromEntries(request.headers);
  const { pathname: path } = new URL(request.url);
  return JSON.stringify({ nth, at: new Date(at).toISOString(), path, headers, signature, status, body });
}

function typeOf(body: string): string {
  try {
    const parsed: unknown = JSON.parse(body);
    if (typeof parsed === "object" && parsed !== null && "type" in parsed) return printable(String(parsed.type));
  } catch {
    // Whatever else posts here is printed as it is.
  }
  return "something else";
}
