/**
 * Receivers behind HTTPS, and a hundred of them: what a delivery costs there, and how many connections it takes. Each
 * event goes to one receiver, as it would if there were one only: so the work is the same, but for where it goes.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createCertificate } from "./certificate.ts";
import { writeSpreadConfig } from "./config.ts";
import type { Contender } from "./contender.ts";
import { measureBacklog, measureSingles } from "./measure.ts";
import type { Bench } from "./run.ts";
import type { Measured } from "./watch.ts";

export type Scheme = "http" | "https";
/** What is asked of one receiver behind HTTPS. */
export type SecureLoad = "singles" | "backlog";

export const RECEIVERS = 100;

export async function measureSecure(contender: Contender, load: SecureLoad, bench: Bench): Promise<Measured> {
  const secured = await among({ scheme: "https", receivers: 1 }, bench);
  if (load === "singles") return measureSingles(contender, "none", secured);
  return measureBacklog(contender, { ids: "none", drain: true }, secured);
}

export async function measureSpread(scheme: Scheme, bench: Bench): Promise<Measured> {
  const spread = await among({ scheme, receivers: RECEIVERS }, bench);
  return measureBacklog("fairlead", { ids: "none", drain: true }, spread);
}

type Among = { readonly scheme: Scheme; readonly receivers: number };

/** The bench with these receivers, each at an address of its own: 127.0.0.1, 127.0.0.2 and so on. */
async function among({ scheme, receivers }: Among, bench: Bench): Promise<Bench> {
  const addresses = Array.from({ length: receivers }, (_, nth) => `127.0.0.${nth + 1}`);
  const certificate = scheme === "https" ? createCertificate(addresses) : null;
  const ca = join(bench.folder, "receivers.crt");
  if (certificate) writeFileSync(ca, certificate.cert);
  const ports = await bench.receiver.ask("listen", { addresses, certificate });
  const urls = addresses.map((address, nth) => `${scheme}://${address}:${ports[nth]}/`);
  const [url = ""] = urls;
  const trust = certificate ? { ca } : {};
  return { ...bench, sources: receivers, config: writeSpreadConfig({ urls, ...trust }), target: { url, ...trust } };
}
