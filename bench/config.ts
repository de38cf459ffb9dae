/** The config files of the Fairlead that is measured. */
import { WRITE_KEY, writeKeyOf } from "./requests.ts";

/** What webhooks are signed with. */
export const SECRET = "bench-secret";

/** One source, and one destination at the given port. */
export function writeSmallConfig(port: number): string {
  return writeConfigOf([port]);
}

/** The same with the outbox in a database. */
export function writeSharedConfig(port: number, url: string): string {
  return writeSmallConfig(port).replace("outbox: {", `outbox: { url: "${url}",`);
}

/** One source, and a destination at each of these ports: all of them get every event. */
export function writeConfigOf(ports: readonly number[]): string {
  const destinations = ports.map(
    (port, nth) => `bench-${nth}: { webhooks: [{ url: "http://127.0.0.1:${port}/${nth}" }], sharedSecret: ${SECRET} }`,
  );
  return `${FACES}sources: { bench: { writeKey: ${WRITE_KEY} } }
destinations: { ${destinations.join(", ")} }
`;
}

/** Two sources, and a destination that takes so many events of them in a second. */
export function writeSharingConfig(port: number, rate: number): string {
  return `${FACES}sources: { bench: { writeKey: ${WRITE_KEY} }, shop: { writeKey: shop-key } }
destinations: { bench: { webhooks: [{ url: "http://127.0.0.1:${port}/" }], sharedSecret: ${SECRET}, rate: ${rate}/s } }
`;
}

/** A destination for each URL, each with a source of its own. `ca`: the file of the authority that they all trust. */
export function writeSpreadConfig({ urls, ca }: { readonly urls: readonly string[]; readonly ca?: string }): string {
  const sources = urls.map((_, nth) => `bench-${nth}: { writeKey: ${writeKeyOf(nth)} }`);
  const trust = ca === undefined ? "" : `, ca: ${JSON.stringify(ca)}`;
  const destinations = urls.map(
    (url, nth) =>
      `bench-${nth}: { sources: [bench-${nth}], webhooks: [{ url: ${JSON.stringify(url)}${trust} }], sharedSecret: ${SECRET} }`,
  );
  return `${FACES}sources: { ${sources.join(", ")} }\ndestinations: { ${destinations.join(", ")} }\n`;
}

/** Ports that the system gives, and more room than a run fills. */
const FACES = `ingest: { listen: "127.0.0.1:0" }
admin: { listen: "127.0.0.1:0" }
outbox: { maxSize: 64GB }
`;

export type LargeConfig = {
  /** Where all webhooks are. */
  readonly port: number;
  readonly sources: number;
};

const DESTINATIONS = 20;

/**
 * As many sources as are wanted, all calls come from one of them; and 20 destinations, one of which gets its events. In
 * each revision, one source has another name, and one header of the webhook that gets the events another value.
 */
export function createLargeConfig({ port, sources }: LargeConfig): (revision: number) => string {
  const others = [...Array.from({ length: sources - 2 }, (_, nth) => `site-${nth}`), `revised-${REVISION}`];
  const destinations = Array.from({ length: DESTINATIONS - 1 }, (_, nth) => {
    const from = others.filter((_, other) => other % (DESTINATIONS - 1) === nth);
    return writeDestination({ name: `other-${nth}`, from, url: `http://127.0.0.1:${port}/${nth}`, token: `of-${nth}` });
  });
  const bench = { name: "bench", from: ["bench"], url: `http://127.0.0.1:${port}/`, token: `revised-${REVISION}` };
  const template = `${FACES}sources:
${writeSource("bench", WRITE_KEY)}${others.map((name) => writeSource(name, `key-of-${name}`)).join("")}destinations:
${destinations.join("")}${writeDestination(bench)}`;
  return (revision) => template.replaceAll(REVISION, String(revision));
}

/** Stands for the number. */
const REVISION = "<revision>";

/** As people write it, who leave out what has the right default. */
function writeSource(name: string, writeKey: string): string {
  return `  ${name}:
    writeKey: ${writeKey}
    type: server
`;
}

type Destination = {
  readonly name: string;
  readonly from: readonly string[];
  readonly url: string;
  readonly token: string;
};

function writeDestination({ name, from, url, token }: Destination): string {
  return `  ${name}:
    sources: [${from.join(", ")}]
    types: [identify, track, page]
    webhooks:
      - url: ${url}
        headers:
          Authorization: Bearer ${token}
          X-Environment: production
    sharedSecret: ${SECRET}
`;
}
