/**
 * What a team would write instead of Fairlead with a queue from npm: a server that puts each call into BullMQ and then
 * answers, and a worker that signs it and sends it, up to ten times. Nothing else is around it: no validation, no
 * routing, no dedup, no dead letters that one could look at.
 *
 * Usage: bun bullmq.ts <folder of node_modules> <url of the receiver> [<file of the authority that its certificate is
 * from>], in the folder of Redis's socket
 */
import { createRequire } from "node:module";
import { SOCKET } from "./peers.ts";

const [modules = ".", receiver = "", authority] = process.argv.slice(2);
const tls = authority === undefined ? {} : { tls: { ca: await Bun.file(authority).text() } };
const SECRET = "bench-secret";

type Job = { readonly name: string; readonly data: { readonly body: string } };
/** As much of BullMQ as is used here: it is installed by the bench, and its types are not there before. */
type BullMQ = {
  readonly Queue: new (
    name: string,
    options: object,
  ) => { add(name: string, data: Job["data"]): Promise<unknown>; addBulk(jobs: readonly Job[]): Promise<unknown> };
  readonly Worker: new (
    name: string,
    work: (job: Job) => Promise<void>,
    options: object,
  ) => { on(event: "error", seen: (error: Error) => void): void };
};

const { Queue, Worker } = createRequire(`${modules}/`)("bullmq") as BullMQ;
const connection = { path: SOCKET, maxRetriesPerRequest: null };
const defaultJobOptions = { attempts: 10, backoff: { type: "exponential", delay: 1_000 }, removeOnComplete: true };
const queue = new Queue("events", { connection, defaultJobOptions });
const worker = new Worker("events", send, { connection, concurrency: 64 });
worker.on("error", (error) => console.error(error));

const server = Bun.serve({ hostname: "127.0.0.1", port: 0, development: false, fetch: take });
console.log(`ingest http://127.0.0.1:${server.port}`);

/** A single call is kept as it came, so it is parsed only to know that it can be. */
async function take(request: Request): Promise<Response> {
  const text = await request.text();
  const { batch } = JSON.parse(text) as { readonly batch?: readonly unknown[] };
  if (batch) await queue.addBulk(batch.map((event) => ({ name: "event", data: { body: JSON.stringify(event) } })));
  else await queue.add("event", { body: text });
  return new Response('{"success":true}');
}

async function send({ data: { body } }: Job): Promise<void> {
  const signature = new Bun.CryptoHasher("sha1", SECRET).update(body).digest("hex");
  const headers = { "Content-Type": "application/json", "User-Agent": "Peer/1.0", "X-Signature": signature };
  const response = await fetch(receiver, { method: "POST", headers, body, ...tls });
  if (!response.ok) throw new Error(`the receiver answered ${response.status}`);
}
