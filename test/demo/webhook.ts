import { createHmac } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { CALLS, type Kind, type Sent } from "./calls.ts";
import { HEADER, PATH } from "./place.ts";

/** A webhook, as `fairlead listen --json` prints it. */
export type Webhook = {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly signature: string;
  readonly status: number;
  readonly body: string;
};

export function isWebhook(line: string): boolean {
  return line.startsWith('{"nth":');
}

export function kindOf({ body }: Webhook): string {
  return String(JSON.parse(body).type);
}

export function idOf({ body }: Webhook): string {
  return String(JSON.parse(body).messageId);
}

/** All that is wrong with the webhooks of the calls that were sent, in words. Empty if nothing is. */
export function findFaults(webhooks: readonly Webhook[], sent: Sent, secret: string): readonly string[] {
  return [...sent].flatMap(([kind, id]) => {
    const arrived = webhooks.filter((webhook) => idOf(webhook) === id);
    const faults = arrived.flatMap((webhook) => faultsOf(webhook, kind, secret));
    return [...countFaults(arrived.length), ...faults].map((fault) => `the webhook of ${kind} ${fault}`);
  });
}

function countFaults(count: number): readonly string[] {
  if (count === 0) return ["is missing"];
  return count === 1 ? [] : [`has come ${count} times`];
}

function faultsOf({ body, headers, path, signature }: Webhook, kind: Kind, secret: string): readonly string[] {
  const fields: Readonly<Record<string, unknown>> = JSON.parse(body);
  const expected = EXPECTED[kind];
  const wrong = Object.keys(expected.fields).filter((key) => !isDeepStrictEqual(fields[key], expected.fields[key]));
  const keys = Object.keys(fields).join(", ");
  const own = createHmac("sha1", secret).update(body).digest("hex");
  const checks: readonly (readonly [boolean, string])[] = [
    [path === PATH, `has gone to ${path}, not to ${PATH}`],
    [signature === "ok", `has a signature that the receiver calls ${signature}`],
    [headers["x-signature"] === own, `has the X-Signature ${headers["x-signature"]}, not the HMAC-SHA1 ${own}`],
    [headers["user-agent"] === "Fairlead/1.0", `has the User-Agent ${headers["user-agent"]}`],
    [headers["content-type"] === "application/json", `has the Content-Type ${headers["content-type"]}`],
    [headers[HEADER.name.toLowerCase()] === HEADER.value, `does not have the header ${HEADER.name}: ${HEADER.value}`],
    [keys === expected.keys.join(", "), `has the keys ${keys}; expected were ${expected.keys.join(", ")}`],
    [wrong.length === 0, `has other values than were sent in ${wrong.join(", ")}`],
  ];
  return checks.filter(([holds]) => !holds).map(([, fault]) => fault);
}

/** What a receiver can rely on for one kind of call: these keys in this order, these of them with these values. */
type Expected = { readonly keys: readonly string[]; readonly fields: Readonly<Record<string, unknown>> };

const { identify, track, page, screen, group, alias } = CALLS;
const TIMES = ["originalTimestamp", "receivedAt", "sentAt"];

const EXPECTED: Readonly<Record<Kind, Expected>> = {
  identify: {
    keys: ["version", "type", "userId", "traits", "timestamp", "context", "messageId", "integrations", ...TIMES],
    fields: { version: 1, ...identify },
  },
  track: {
    keys: [
      ...["version", "type", "userId", "event", "properties", "timestamp", "context"],
      ...["messageId", "integrations", ...TIMES],
    ],
    fields: { version: 1, ...track },
  },
  page: {
    keys: [
      ...["version", "type", "userId", "properties", "timestamp", "context"],
      ...["messageId", "name", "integrations", ...TIMES],
    ],
    fields: { version: 1, ...page },
  },
  screen: {
    keys: [
      ...["version", "type", "userId", "name", "timestamp", "context"],
      ...["messageId", "properties", "integrations", ...TIMES],
    ],
    fields: { version: 1, userId: screen.userId, name: screen.name, properties: screen.properties },
  },
  group: {
    keys: [
      ...["version", "type", "groupId", "userId", "traits", "timestamp", "context"],
      ...["messageId", "integrations", ...TIMES],
    ],
    fields: { version: 1, ...group },
  },
  alias: {
    keys: ["version", "type", "Previous ID", "User ID", "timestamp", "context", "messageId", "integrations", ...TIMES],
    fields: { version: 1, "Previous ID": alias.previousId, "User ID": alias.userId },
  },
};
