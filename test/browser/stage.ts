import type { Browser } from "playwright-core";
import { type Receiver, type Reply, startReceiver } from "../binary/receiver.ts";
import { type Daemon, KEY, makeConfig, makeWorld, type World } from "../binary/world.ts";
import { type Load, startSite } from "./site.ts";
import { makeVisitor, type Visitor } from "./visitor.ts";

export type StageOptions = {
  /** How the pages load the client library; pages without it if left out. */
  readonly load?: Load[1];
  /** A module that the pages load instead. */
  readonly module?: string;
  /** Sections of the config, for a site on that port. */
  readonly settings?: (sitePort: number) => object;
  /** Beside the config. */
  readonly files?: Readonly<Record<string, string>>;
  /** What the receiver answers. */
  readonly answer?: () => Reply;
};

/** A web site with visitors, the daemon and a receiver. Disposing of it ends and removes all. */
export type Stage = AsyncDisposable & {
  readonly world: World;
  readonly daemon: Daemon;
  readonly receiver: Receiver;
  /** Someone new opens a page of the site; `host` is a name of this machine. */
  visit(path: string, host?: string): Promise<Visitor>;
};

/** Sets it all up. The site's pages know no more of Fairlead than its address and their write key. */
export async function setStage(browser: () => Promise<Browser>, options: StageOptions = {}): Promise<Stage> {
  const { load, module, settings, files = {}, answer } = options;
  await using parts = new AsyncDisposableStack();
  const receiver = parts.use(startReceiver(answer));
  const site = parts.use(startSite());
  const world = parts.use(await makeWorld());
  for (const [name, text] of Object.entries(files)) await world.write(name, text);
  const config = JSON.parse(makeConfig({ url: receiver.url }));
  await world.write("config.yaml", JSON.stringify({ ...config, ...settings?.(site.port) }));
  const daemon = await world.serve();
  if (load) await site.use([{ writeKey: KEY, cdnURL: daemon.ingest }, load]);
  if (module) site.useModule(module);
  const all = parts.move();
  return {
    ...{ world, daemon, receiver },
    visit: async (path, host = "localhost") =>
      all.use(await makeVisitor(await browser(), `http://${host}:${site.port}${path}`)),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}
