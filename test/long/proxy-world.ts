import { spawnSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { request } from "node:https";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { ROOT } from "../binary/binary.ts";
import { type Process, start } from "../binary/process.ts";
import { type Daemon, KEY, makeWorld, SECRET, type World } from "../binary/world.ts";

/** The client's end of the connection, so that it is another address than the proxy's. */
export const CLIENT = "127.0.0.9";

export type Proxy = {
  readonly name: string;
  /** Why it cannot be tested with; false if it can. */
  readonly missing: string | false;
  /** Starts it on the file in packaging/, in the foreground. Resolves when it listens. */
  start(place: Place): Promise<Process>;
};

/** What has to be set in the file that is shipped. */
export type Place = {
  readonly world: World;
  readonly host: string;
  readonly port: number;
  /** Where Fairlead is: host:port, or the path of a socket. */
  readonly upstream: { readonly tcp: string } | { readonly socket: string };
};

const TLS = join(ROOT, "test/fixtures/tls");
const CERTIFICATE = join(TLS, "good.crt");
const PRIVATE_KEY = join(TLS, "server.key");

export const PROXIES: readonly Proxy[] = [
  { name: "nginx", missing: missing("nginx", "-v"), start: startNginx },
  { name: "caddy", missing: missing("caddy", "version"), start: startCaddy },
];

function missing(name: string, argument: string): string | false {
  return spawnSync(name, [argument]).status === 0 ? false : `there is no ${name} on this machine (apt install ${name})`;
}

/** Replaces what an operator sets. Throws for what is not in the file, so that the test is about the file. */
function adapt(text: string, settings: Readonly<Record<string, string>>): string {
  return Object.entries(settings).reduce((before, [from, to]) => {
    if (!before.includes(from)) throw new Error(`the file has no ${JSON.stringify(from)}`);
    return before.replaceAll(from, () => to);
  }, text);
}

/** One process, so that none is left when it is killed. What it logs by itself says when it listens. */
const NGINX = "daemon off; master_process off; pid nginx.pid; error_log stderr notice; events {}";

async function startNginx({ world, host, port, upstream }: Place): Promise<Process> {
  const { folder } = world;
  const site = adapt(readFileSync(join(ROOT, "packaging/nginx/fairlead.conf"), "utf8"), {
    "listen 443 ssl": `listen ${host}:${port} ssl`,
    "    listen [::]:443 ssl http2;\n": "",
    "server_name events.example.com": "server_name localhost",
    "/etc/letsencrypt/live/events.example.com/fullchain.pem": CERTIFICATE,
    "/etc/letsencrypt/live/events.example.com/privkey.pem": PRIVATE_KEY,
    "/var/log/nginx": folder,
    "server 127.0.0.1:8080": `server ${"tcp" in upstream ? upstream.tcp : `unix:${upstream.socket}`}`,
  });
  const folders = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `${name}_temp_path ${name};`);
  await world.write("fairlead.conf", site);
  await world.write("nginx.conf", `${NGINX}\nhttp { ${folders.join(" ")} include fairlead.conf; }\n`);
  const nginx = start("nginx", ["-e", "stderr", "-p", folder, "-c", "nginx.conf"], { folder });
  await nginx.line(/using the "epoll" event method/);
  return nginx;
}

async function startCaddy({ world, host, port, upstream }: Place): Promise<Process> {
  const { folder } = world;
  const site = adapt(readFileSync(join(ROOT, "packaging/caddy/Caddyfile"), "utf8"), {
    "events.example.com {": `https://localhost:${port} {\n\tbind ${host}`,
    "#tls /etc/fairlead/tls/fullchain.pem /etc/fairlead/tls/privkey.pem": `tls ${CERTIFICATE} ${PRIVATE_KEY}`,
    "/var/log/caddy": folder,
    "to 127.0.0.1:8080": `to ${"tcp" in upstream ? upstream.tcp : `unix/${upstream.socket}`}`,
  });
  // It asks nobody for certificates, and keeps to its port.
  await world.write("Caddyfile", `{\n\tadmin off\n\tauto_https off\n\tservers {\n\t\tprotocols h1 h2\n\t}\n}\n${site}`);
  const caddy = start("caddy", ["run", "--config", "Caddyfile", "--adapter", "caddyfile"], {
    folder,
    env: { PATH: process.env.PATH, HOME: folder },
  });
  await caddy.line(/serving initial configuration/);
  return caddy;
}

export type Answer = { readonly status: number; readonly headers: Headers; readonly text: string };

export type Proxied = AsyncDisposable & {
  readonly daemon: Daemon;
  readonly path: (name: string) => string;
  /** How many connections the proxy has opened to Fairlead; over TCP only. */
  readonly connections: () => number;
  /** Sends a request to the proxy, from CLIENT. A body is POSTed. */
  send(path: string, init?: { body?: string | Uint8Array; headers?: Record<string, string> }): Promise<Answer>;
};

/** Fairlead with its webhook at `url`, and a proxy in front of it. */
export async function startProxied(proxy: Proxy, kind: "tcp" | "socket", url: string): Promise<Proxied> {
  await using stack = new AsyncDisposableStack();
  const world = stack.use(await makeWorld());
  const socket = world.path("ingest.sock");
  await world.write("config.yaml", configFor(url, kind === "tcp" ? "127.0.0.1:0" : `unix:${socket}`));
  const daemon = await world.serve();
  const counted = kind === "tcp" ? stack.use(await countConnections(daemon.ingest)) : null;
  // Of this address nobody else is given ports.
  const host = `127.${randomInt(100, 200)}.${randomInt(1, 255)}.${randomInt(1, 255)}`;
  const port = await freePort(host);
  const upstream = counted ? { tcp: counted.address } : { socket };
  stack.use(await proxy.start({ world, host, port, upstream }));
  const all = stack.move();
  return {
    daemon,
    path: world.path,
    connections: () => counted?.count() ?? 0,
    send: (path, { body, headers = {} } = {}) => send({ host, port, path, body, headers }),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

function configFor(url: string, listen: string): string {
  return JSON.stringify({
    ingest: { listen, trustedProxies: ["127.0.0.1"] },
    admin: { listen: "127.0.0.1:0" },
    log: { format: "logfmt" },
    sources: { website: { writeKey: KEY } },
    destinations: { crm: { webhooks: [{ url }], sharedSecret: SECRET } },
  });
}

async function freePort(host: string): Promise<number> {
  const server = createServer().listen(0, host);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

type Counted = AsyncDisposable & { readonly address: string; readonly count: () => number };

/** Hands each connection on, and counts them. */
async function countConnections(target: string): Promise<Counted> {
  const { hostname, port } = new URL(target);
  const open = new Set<Socket>();
  let count = 0;
  const server = createServer((near) => {
    count += 1;
    const far = connect(Number(port), hostname);
    for (const socket of [near, far]) {
      open.add(socket);
      socket.on("error", () => {
        near.destroy();
        far.destroy();
      });
      socket.on("close", () => open.delete(socket));
    }
    near.pipe(far).pipe(near);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    count: () => count,
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

type Sending = {
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly body: string | Uint8Array | undefined;
  readonly headers: Record<string, string>;
};

const CA = readFileSync(join(TLS, "ca.crt"));

function send({ host, port, path, body, headers }: Sending): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = {
      ...{ host, port, path, localAddress: CLIENT, servername: "localhost", ca: CA, agent: false },
      method: body === undefined ? "GET" : "POST",
      headers: { Host: `localhost:${port}`, Authorization: `Basic ${btoa(`${KEY}:`)}`, ...headers },
    };
    const sent = request(options, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (piece: string) => {
        text += piece;
      });
      response.on("end", () => {
        const all = new Headers(response.headers as Record<string, string>);
        resolve({ status: response.statusCode ?? 0, headers: all, text });
      });
      response.on("error", reject);
    });
    sent.on("error", reject);
    sent.end(body);
  });
}
