import type { Config, Tls } from "../model/config.ts";
import type { Handle, Listener, Serve } from "../model/ports.ts";

export type Handles = { readonly ingest: Handle; readonly admin: Handle };

/** The daemon's two listeners: one for programs and pages, one for the operator. */
export type Listeners = {
  readonly ingest: Listener;
  readonly admin: Listener;
  /** Serves the certificate of this config if it has changed. Changes nothing if it rejects. */
  renew(config: Config): Promise<void>;
};

/** Opens both, or rejects and opens neither. */
export async function openListeners(serve: Serve, config: Config, handles: Handles): Promise<Listeners> {
  const admin = await serve(config.admin.listen, handles.admin);
  try {
    const { listen, reusePort, tls } = config.ingest;
    const place = listen.kind === "tcp" ? { ...listen, shared: reusePort } : listen;
    const ingest = await serve(place, handles.ingest, tls);
    return { ingest, admin, renew: createRenew(ingest, tls) };
  } catch (error) {
    await admin.stop();
    throw error;
  }
}

function createRenew(listener: Listener, first: Tls | null): Listeners["renew"] {
  let current = first;
  return async function renew({ ingest: { tls } }) {
    if (tls === null || isSame(tls, current)) return;
    await listener.renew(tls);
    current = tls;
  };
}

function isSame(one: Tls, other: Tls | null): boolean {
  return one.cert === other?.cert && one.key.reveal() === other.key.reveal();
}
