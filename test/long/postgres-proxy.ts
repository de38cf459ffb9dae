import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";

/** What the proxy can lose the answer of. */
export type Statement = "append" | "commit";
/** `late`: the server has answered, and the client does not hear of it. `early`: it may be at work still. */
export type Strike = "late" | "early";

export type PostgresProxy = AsyncDisposable & {
  /** The folder of its socket. */
  readonly folder: string;
  /** How often a client was dropped, by statement and strike. */
  readonly strikes: ReadonlyMap<string, number>;
};

const SOCKET = ".s.PGSQL.5432";

/**
 * Stands between daemons and PostgreSQL. It forwards everything; but where `decide` says so, it drops the client once it has
 * forwarded a statement.
 */
export async function startProxy(
  place: { readonly folder: string; readonly server: string },
  decide: (statement: Statement) => Strike | null,
): Promise<PostgresProxy> {
  const strikes = new Map<string, number>();
  const sockets = new Set<Socket>();
  const listener = createServer((client) => {
    const server = connect(join(place.server, SOCKET));
    for (const socket of [client, server]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        client.destroy();
        server.end();
      });
    }
    forward(client, server, (statement) => {
      const strike = decide(statement);
      if (strike) strikes.set(`${strike} ${statement}`, (strikes.get(`${strike} ${statement}`) ?? 0) + 1);
      return strike;
    });
  });
  listener.listen(join(place.folder, SOCKET));
  await once(listener, "listening");
  return {
    folder: place.folder,
    strikes,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      listener.close();
      await once(listener, "close");
    },
  };
}

function forward(client: Socket, server: Socket, decide: (statement: Statement) => Strike | null): void {
  const read = createReader();
  let strike: Strike | null = null;
  client.on("data", (bytes: Buffer) => {
    for (const statement of read(bytes)) strike ??= decide(statement);
    server.write(bytes);
    if (strike === "early") client.destroy();
  });
  server.on("data", (bytes: Buffer) => {
    if (strike === null) client.write(bytes);
    else client.destroy();
  });
}

/** A statement is complete with the message that asks for the answers: Sync, or a query without values. */
const SYNC = "S";

/** Reads a client's messages. Answers the statements that have been sent completely. */
function createReader(): (bytes: Buffer) => readonly Statement[] {
  const appends = new Set<string>();
  let rest = Buffer.alloc(0);
  // The first message has no type.
  let typeLength = 0;
  let begun: Statement | null = null;

  return function read(bytes) {
    rest = Buffer.concat([rest, bytes]);
    const complete: Statement[] = [];
    while (rest.length >= typeLength + 4) {
      const end = typeLength + rest.readUInt32BE(typeLength);
      if (rest.length < end) break;
      const type = rest.toString("latin1", 0, typeLength);
      const fields = rest.toString("latin1", typeLength + 4, end).split("\0");
      rest = rest.subarray(end);
      typeLength = 1;
      const done = hear(type, fields);
      if (done) complete.push(done);
    }
    return complete;
  };

  function hear(type: string, [first = "", second = ""]: readonly string[]): Statement | null {
    if (type === "P" && second.includes("INSERT INTO segments")) appends.add(first);
    if (type === "B" && appends.has(second)) begun = "append";
    if (type === "Q") return first === "COMMIT" ? "commit" : null;
    if (type !== SYNC) return null;
    const done = begun;
    begun = null;
    return done;
  }
}
