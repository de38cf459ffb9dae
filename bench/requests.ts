/** The requests of the load: built once, and made unique in place before each time they are sent. */

/** Where messageIds come from: none (the server gives one), time-ordered as the Node client makes them, or random. */
export const IDS = ["none", "ordered", "random"] as const;
export type Ids = (typeof IDS)[number];

/** Bytes of JSON of each event, whatever its ids. */
export const EVENT_BYTES = 400;
/** The same of a small event: 2,500 of them are a batch that is not too large to be taken. */
export const SMALL_EVENT_BYTES = 180;

export const WRITE_KEY = "bench-key";

/** Of the same length, for one of many sources. */
export function writeKeyOf(nth: number): string {
  return nth === 0 ? WRITE_KEY : `bench-${String(nth).padStart(3, "0")}`;
}

export type RequestKind = {
  readonly ids: Ids;
  readonly eventsPerRequest: number;
  /** Whether its events are small ones. */
  readonly small?: boolean;
  /** From how many sources they come, each request from the next one. */
  readonly sources?: number;
};

export type LoadRequest = {
  readonly bytes: Buffer;
  /** Gives each event in it a user that no request had before, and a messageId likewise. */
  renew(): void;
};

/** A POST of one call to /v1/track, or of several to /v1/batch. */
export function createRequest({ ids, eventsPerRequest, small = false, sources = 1 }: RequestKind): LoadRequest {
  const event = writeEvent(ids, small);
  const single = eventsPerRequest === 1;
  const body = single ? event : `{"batch":[${Array(eventsPerRequest).fill(event).join(",")}]}`;
  const bytes = Buffer.from(headOf(single ? "/v1/track" : "/v1/batch", body) + body);
  const first = bytes.indexOf(event);
  const places = Array.from({ length: eventsPerRequest }, (_, nth) => first + nth * (event.length + 1));
  const user = event.indexOf(USER);
  const id = event.indexOf(PLACEHOLDERS[ids]);
  const credentials = Array.from({ length: sources }, (_, nth) => Buffer.from(credentialsOf(writeKeyOf(nth))));
  const authorization = bytes.indexOf(credentialsOf(WRITE_KEY));
  return {
    bytes,
    renew() {
      const now = Date.now();
      if (sources > 1) credentials[nextRequest() % sources]?.copy(bytes, authorization);
      for (const place of places) {
        writeDigits(bytes, place + user + USER_PREFIX.length, nextUser());
        if (ids === "random") writeUuid(bytes, place + id);
        if (ids === "ordered") writeOrderedId(bytes, place + id, now);
      }
    },
  };
}

const USER_PREFIX = "user-";
const USER = `${USER_PREFIX}000000000000`;
const UUID = "00000000-0000-4000-8000-000000000000";
const ORDERED_PREFIX = "node-next-";
const PLACEHOLDERS: Readonly<Record<Ids, string>> = {
  none: "",
  random: UUID,
  ordered: `${ORDERED_PREFIX}${"0".repeat(13)}-${UUID}`,
};

function writeEvent(ids: Ids, small: boolean): string {
  const messageId = ids === "none" ? {} : { messageId: PLACEHOLDERS[ids] };
  const context = { library: { name: "bench", version: "1.0.0" }, locale: "en-US" };
  const shown = { plan: "pro", url: "https://example.com/shop/cart", quantity: 3, price: 12.5 };
  const properties = small ? { note: "" } : { ...shown, note: "" };
  const call = { type: "track", userId: USER, event: "Item Purchased", ...messageId, properties };
  const event = small ? call : { ...call, context };
  const room = (small ? SMALL_EVENT_BYTES : EVENT_BYTES) - JSON.stringify(event).length;
  return JSON.stringify({ ...event, properties: { ...properties, note: "x".repeat(room) } });
}

function headOf(path: string, body: string): string {
  const authorization = `Authorization: Basic ${credentialsOf(WRITE_KEY)}`;
  const about = `Content-Type: application/json\r\nContent-Length: ${body.length}`;
  return `POST ${path} HTTP/1.1\r\nHost: bench\r\n${authorization}\r\n${about}\r\n\r\n`;
}

function credentialsOf(writeKey: string): string {
  return btoa(`${writeKey}:`);
}

let requests = 0;

function nextRequest(): number {
  requests += 1;
  return requests;
}

let users = 0;

function nextUser(): number {
  users += 1;
  return users;
}

const ZERO = 48;

/** Right-aligned in twelve digits. */
function writeDigits(bytes: Buffer, at: number, value: number, digits = 12): void {
  let rest = value;
  for (let place = at + digits - 1; place >= at; place -= 1) {
    bytes[place] = ZERO + (rest % 10);
    rest = Math.floor(rest / 10);
  }
}

function writeOrderedId(bytes: Buffer, at: number, now: number): void {
  const time = at + ORDERED_PREFIX.length;
  writeDigits(bytes, time, now, 13);
  writeUuid(bytes, time + 14);
}

const HEX = Buffer.from("0123456789abcdef");
/** Where the hexadecimal digits of a UUID are, but for the two that say its version and variant. */
const UUID_DIGITS = [...UUID].flatMap((digit, place) => (digit === "0" ? [place] : []));

function writeUuid(bytes: Buffer, at: number): void {
  let chance = 0;
  UUID_DIGITS.forEach((place, nth) => {
    // One random number holds digits for seven places.
    chance = nth % 7 === 0 ? Math.random() * 2 ** 28 : chance >>> 4;
    bytes[at + place] = HEX[chance & 15] ?? ZERO;
  });
}
