import { parseJson } from "../http/json.ts";
import type { CallType } from "../model/event.ts";
import { type Fault, fault, isFault } from "../model/fault.ts";
import { isObject } from "../validate/shape.ts";
import { admit, refuse } from "./admit.ts";
import type { IncomingRequest } from "./door.ts";
import { arrivalOf, type ReceiveWorld } from "./receive.ts";

/** Receives a call that comes as an image of a mail or a page. The answer is an image in any case. */
export async function receivePixel(incoming: IncomingRequest, type: CallType, world: ReceiveWorld): Promise<Response> {
  const { request, door } = incoming;
  const start = request.url.indexOf("?");
  const pixel = readPixel(new URLSearchParams(start < 0 ? "" : request.url.slice(start)));
  const call = pixel.kind === "call" ? pixel.call : null;
  const what = pixel.kind === "call" ? pixel.call : pixel.text;
  const source = door.findSource.anywhere(request, call);
  if (isFault(source)) {
    refuse(source, { incoming, what }, world);
  } else if (pixel.kind === "refused") {
    refuse(pixel.fault, { incoming, source, what }, world);
  } else {
    const arrival = arrivalOf({ incoming, source, type, isPage: true }, world);
    await admit({ incoming, source, kind: type, envelope: { calls: [call], arrival } }, world);
  }
  return answerPixel();
}

/** One transparent pixel. */
const GIF = Buffer.from("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7", "base64");

/** Never cached, so that each view is a request. */
export function answerPixel(): Response {
  return new Response(GIF, { status: 200, headers: { "Content-Type": "image/gif", "Cache-Control": "no-store" } });
}

/**
 * Reads the call of a pixel. `data` holds it as JSON, in base64 of any alphabet; else the query is the call, with dotted
 * keys for nested fields (`properties.plan=pro`).
 */
function readPixel(query: URLSearchParams): Pixel {
  const data = query.get("data");
  return data === null ? readDotted(query) : readData(data);
}

/** `text`: what was found instead of a call. */
type Pixel =
  | { readonly kind: "call"; readonly call: object }
  | { readonly kind: "refused"; readonly fault: Fault; readonly text: string };

function readData(data: string): Pixel {
  // URLSearchParams reads a plus that is not escaped as a space.
  const base64 = data.replaceAll(" ", "+");
  if (!/^[\w+/-]*={0,2}$/.test(base64)) return refused(fault("invalid_encoding", "data is not base64"), "");
  const text = Buffer.from(base64, "base64").toString();
  const parsed = parseJson(text, "data, in base64,");
  if (isFault(parsed)) return refused(parsed, text);
  const call = parsed.value;
  return isObject(call) ? { kind: "call", call } : refused(fault("invalid_call", "data must hold a JSON object"), text);
}

function refused(fault: Fault, text: string): Pixel {
  return { kind: "refused", fault, text };
}

type Branch = { [key: string]: string | boolean | Branch };

function readDotted(query: URLSearchParams): Pixel {
  const call: Branch = {};
  for (const [key, value] of query) {
    const [field = "", ...deeper] = key.split(".");
    const last = deeper.pop();
    // A query holds text alone, and only these fields are read as booleans.
    const meant = field === "integrations" || key === "context.direct" ? asBoolean(value) : value;
    const placed =
      last === undefined ? put(call, field, meant) : plant(call, { path: [field, ...deeper], last, meant });
    if (!placed) return refused(bothAt(key), query.toString());
  }
  return { kind: "call", call };
}

function bothAt(key: string): Fault {
  return fault("invalid_call", `the query gives ${key.slice(0, 100)} both a value and nested fields`);
}

type Leaf = { readonly path: readonly string[]; readonly last: string; readonly meant: string | boolean };

function plant(call: Branch, { path, last, meant }: Leaf): boolean {
  let branch = call;
  for (const key of path) {
    if (!Object.hasOwn(branch, key)) put(branch, key, {});
    const next = branch[key];
    if (!isObject(next)) return false;
    branch = next as Branch;
  }
  return put(branch, last, meant);
}

/** Defined rather than assigned, so that a key named `__proto__` is data. Of a key that comes twice, the last one counts. */
function put(branch: Branch, key: string, value: string | boolean | Branch): boolean {
  if (Object.hasOwn(branch, key) && isObject(branch[key])) return false;
  Object.defineProperty(branch, key, { value, enumerable: true, writable: true, configurable: true });
  return true;
}

function asBoolean(value: string): string | boolean {
  return value === "true" || value === "false" ? value === "true" : value;
}
