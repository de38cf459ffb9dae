/**
 * What is stored as the body of an event. Most events have the specification's body alone, and that is stored as it is. If
 * destinations have payloads of their own, all stand in one JSON array, each behind its length in UTF-16:
 *
 *     [62,{"version":1,…},"slack",25,{"text":"u1 bought a thing"}]
 *
 * So an event is one line of its segment, whatever it has, and is erased, copied and pruned as one.
 */

/** By destination. */
export type Payloads = readonly (readonly [destination: string, payload: string])[];

export function storedBody(body: string, payloads: Payloads): string {
  if (payloads.length === 0) return body;
  const own = payloads.map(([destination, payload]) => `,${JSON.stringify(destination)},${payload.length},${payload}`);
  return `[${body.length},${body}${own.join("")}]`;
}

/** What a destination gets, byte for byte: its own payload, or the specification's body. */
export function payloadFor(stored: string, destination: string): string {
  return isPlain(stored) ? stored : (ownPayload(stored, destination) ?? specifiedBody(stored));
}

/** Null if the destination has none of its own. */
export function ownPayload(stored: string, destination: string): string | null {
  return payloadsIn(stored).find(([name]) => name === destination)?.[1] ?? null;
}

/** The specification's body of an event. */
export function specifiedBody(stored: string): string {
  if (isPlain(stored)) return stored;
  const [, length = ""] = FIRST.exec(stored) ?? [];
  return stored.slice(length.length + 2, length.length + 2 + Number(length));
}

/** The same for a delivery alone: without the payloads of other destinations. */
export function storedBodyFor(stored: string, destination: string): string {
  if (isPlain(stored)) return stored;
  return storedBody(
    specifiedBody(stored),
    payloadsIn(stored).filter(([name]) => name === destination),
  );
}

/** The specification's bodies are objects. */
function isPlain(stored: string): boolean {
  return !stored.startsWith("[");
}

const FIRST = /^\[(\d+),/;
const NEXT = /,"([^"\\]+)",(\d+),/y;

function payloadsIn(stored: string): Payloads {
  const payloads: [string, string][] = [];
  if (isPlain(stored)) return payloads;
  const [start = "", length = ""] = FIRST.exec(stored) ?? [];
  for (let at = start.length + Number(length); ; ) {
    NEXT.lastIndex = at;
    const [, name = "", size = ""] = NEXT.exec(stored) ?? [];
    if (size === "") return payloads;
    const from = NEXT.lastIndex;
    at = from + Number(size);
    payloads.push([name, stored.slice(from, at)]);
  }
}
