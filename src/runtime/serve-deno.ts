import type { Listen } from "../model/config.ts";
import { peerAddress } from "./peer-address.ts";
import type { Answering, HttpServer } from "./serve.ts";

/** The part of Deno that is used here. */
declare const Deno: {
  serve(options: ServeOptions, handler: (request: Request, info: Info) => Response | Promise<Response>): Server;
};

type ServeOptions = ({ readonly path: string } | { readonly hostname: string; readonly port: number }) & {
  readonly onListen: () => void;
  readonly onError: (error: unknown) => Response;
};
type Info = { readonly remoteAddr: { readonly hostname?: string } };
type Server = {
  readonly addr: { readonly port?: number };
  shutdown(): Promise<void>;
};

/** Starts Deno's HTTP server. Throws when the address cannot be had. */
export function startOnDeno(listen: Listen, { handle, failed }: Answering): HttpServer {
  const over = Promise.withResolvers<void>();
  const place = listen.kind === "unix" ? { path: listen.path } : { hostname: listen.host, port: listen.port };
  const options = { ...place, onListen() {}, onError: failed };
  const server = Deno.serve(options, (request, { remoteAddr }) =>
    handle(request, { address: peerAddress(remoteAddr.hostname), overSocket: listen.kind === "unix" }),
  );
  return {
    port: server.addr.port ?? 0,
    async finish() {
      await Promise.race([server.shutdown(), over.promise]);
    },
    // Deno cannot close connections in the middle of a shutdown. The end of the process does.
    cut: () => over.resolve(),
  };
}
