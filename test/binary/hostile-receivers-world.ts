import { AUTHORITY, type Hostile } from "./sick-receivers.ts";
import { type Daemon, KEY, makeWorld } from "./world.ts";

/** A line of the log, in format json. */
export type Line = { readonly time: string; readonly msg: string; readonly [field: string]: unknown };

export type Ward = AsyncDisposable & {
  readonly daemon: Daemon;
  /** When the call came in, by the daemon's own clock. In milliseconds since 1970. */
  readonly calledAt: number;
  /** The first line of this name about this destination. */
  line(name: RegExp, destination: string): Promise<Line>;
  /** Resolves when so many deliveries to this destination have been successful. */
  delivered(destination: string, count: number): Promise<void>;
  /** The sum of a metric with these labels, whatever others it has. */
  metric(name: string, labels: Readonly<Record<string, string>>): Promise<number>;
};

export type WardOptions = {
  /** A destination for each, of its name. */
  readonly receivers: Readonly<Record<string, Pick<Hostile, "url">>>;
  readonly timeout?: string;
};

/** A daemon with these receivers, which has taken one call for all of them. It trusts the tests' authority. */
export async function startWard(options: WardOptions): Promise<Ward> {
  const w = await makeWorld();
  await w.write("config.yaml", makeWardConfig(options));
  const daemon = await w.serve({ env: { NODE_EXTRA_CA_CERTS: AUTHORITY } });
  await daemon.call("/v1/track", { userId: "u1", event: "First" });
  const called: Line = JSON.parse(await daemon.process.line(/"call\.accepted"/));
  return {
    daemon,
    calledAt: Date.parse(called.time),
    async line(name, destination) {
      const pattern = new RegExp(`"msg":"${name.source}".*"destination":"${destination}"`);
      return JSON.parse(await daemon.process.line(pattern));
    },
    async delivered(destination, count) {
      const pattern = new RegExp(`"msg":"delivery\\.delivered".*"destination":"${destination}"`);
      await daemon.process.lines(pattern, count);
    },
    async metric(name, labels) {
      const text = await (await fetch(`${daemon.admin}/metrics`)).text();
      const all = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
      const found = text
        .split("\n")
        .filter((line) => line.startsWith(`${name}{`) && all.every((label) => line.includes(label)));
      return found.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
    },
    [Symbol.asyncDispose]: () => w[Symbol.asyncDispose](),
  };
}

function makeWardConfig({ receivers, timeout }: WardOptions): string {
  const destinations = Object.entries(receivers).map(([name, { url }]) => [name, { webhooks: [{ url }] }]);
  return JSON.stringify({
    ingest: { listen: "127.0.0.1:0" },
    admin: { listen: "127.0.0.1:0" },
    delivery: timeout === undefined ? {} : { timeout },
    log: { level: "debug", format: "json" },
    sources: { website: { writeKey: KEY } },
    destinations: Object.fromEntries(destinations),
  });
}
