import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";

/**
 * A port on loopback that nobody listens on, and that nobody can get for as long as this is held: it is the near end of a
 * connection. One that was only free a moment ago may be the next that the system gives to somebody else.
 */
export async function holdPort(): Promise<AsyncDisposable & { readonly port: number }> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const accepted = once(server, "connection");
  const near = connect((server.address() as AddressInfo).port, "127.0.0.1");
  const [[far]] = await Promise.all([accepted, once(near, "connect")]);
  const port = near.localPort;
  if (port === undefined) throw new Error("a connected socket has no port");
  return {
    port,
    async [Symbol.asyncDispose]() {
      near.destroy();
      far.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
