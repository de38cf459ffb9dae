/**
 * The floor: a server that does the same work as Fairlead with nothing around it, as fast as the runtime lets it. It
 * parses the calls, inserts a row for each, commits in groups, answers, signs, POSTs 64 at a time, and marks what was
 * taken with the next calls, or a little later. There is no validation, no routing, no dedup, no retry, no time limit, no log and no metric.
 *
 * Usage: bun floor.ts <data folder> <url of the receiver> [<file of the authority that its certificate is from>]
 */
import Database from "better-sqlite3";

const [folder = ".", receiver = "", authority] = process.argv.slice(2);
const tls = authority === undefined ? {} : { tls: { ca: await Bun.file(authority).text() } };
const SECRET = "bench-secret";
const MOST_AT_ONCE = 64;
const PAGE = 512;
/** In ms: how long an outcome waits for calls to be written with. */
const OUTCOME_LAG = 250;

const db = new Database(`${folder}/floor.db`);
db.pragma("journal_mode = WAL");
db.pragma("synchronous = FULL");
db.exec("CREATE TABLE events (id INTEGER PRIMARY KEY, body TEXT NOT NULL, done INTEGER NOT NULL DEFAULT 0) STRICT");
const begin = db.prepare("BEGIN IMMEDIATE");
const commit = db.prepare("COMMIT");
const insert = db.prepare<[number, string]>("INSERT INTO events (id, body) VALUES (?, ?)");
const markDone = db.prepare<[number]>("UPDATE events SET done = 1 WHERE id = ?");
const readPage = db.prepare<[number, number], Row>("SELECT id, body FROM events WHERE id > ? ORDER BY id LIMIT ?");

type Row = { readonly id: number; readonly body: string };
type Call = { readonly bodies: readonly string[]; readonly committed: () => void };

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  development: false,
  fetch: take,
});
console.log(`ingest http://127.0.0.1:${server.port}`);

async function take(request: Request): Promise<Response> {
  const bodies = readBodies(await request.text());
  await new Promise<void>((committed) => {
    calls.push({ bodies, committed });
    commitSoon();
  });
  return new Response('{"success":true}');
}

/** A single call is stored as it came, so it is parsed only to know that it can be. */
function readBodies(text: string): readonly string[] {
  const parsed = JSON.parse(text) as { readonly batch?: readonly unknown[] };
  return parsed.batch?.map((event) => JSON.stringify(event)) ?? [text];
}

let calls: Call[] = [];
let done: number[] = [];
let scheduled = false;
let lagging: Timer | undefined;
let lastId = 0;

/** What has come by the next turn of the event loop shares one transaction, and so one fsync. */
function commitSoon(): void {
  if (scheduled) return;
  scheduled = true;
  setImmediate(commitGroup);
}

function commitGroup(): void {
  scheduled = false;
  clearTimeout(lagging);
  lagging = undefined;
  const group = calls;
  const firstId = lastId + 1;
  begin.run();
  for (const { bodies } of group) for (const body of bodies) insert.run(++lastId, body);
  for (const id of done) markDone.run(id);
  commit.run();
  calls = [];
  done = [];
  for (const { committed } of group) committed();
  enqueue(group, firstId);
  sendMore();
}

/** What waits in memory to be sent. Beyond a page of it, the rest stays in the file and is read when its turn comes. */
let queue: Row[] = [];
let queueAt = 0;
let lastQueuedId = 0;
let sending = 0;

function enqueue(group: readonly Call[], firstId: number): void {
  const nothingUnread = lastQueuedId === firstId - 1;
  if (!nothingUnread || lastId - lastQueuedId + queue.length - queueAt > PAGE) return;
  for (const { bodies } of group) for (const body of bodies) queue.push({ id: ++lastQueuedId, body });
}

function nextRow(): Row | undefined {
  if (queueAt === queue.length) {
    queue = lastQueuedId < lastId ? readPage.all(lastQueuedId, PAGE) : [];
    queueAt = 0;
    lastQueuedId = queue.at(-1)?.id ?? lastQueuedId;
  }
  const row = queue[queueAt];
  if (row) queueAt += 1;
  return row;
}

function sendMore(): void {
  while (sending < MOST_AT_ONCE) {
    const row = nextRow();
    if (!row) return;
    sending += 1;
    void send(row);
  }
}

/** A failure ends the process, as nobody handles it: then there is nothing to measure. */
async function send({ id, body }: Row): Promise<void> {
  const signature = new Bun.CryptoHasher("sha1", SECRET).update(body).digest("hex");
  const headers = { "Content-Type": "application/json", "User-Agent": "Floor/1.0", "X-Signature": signature };
  const response = await fetch(receiver, { method: "POST", headers, body, ...tls });
  if (!response.ok) throw new Error(`the receiver answered ${response.status}`);
  sending -= 1;
  done.push(id);
  // While others are under way, their outcomes will share the commit; the last one would have it for itself.
  if (sending > 0) commitSoon();
  else lagging ??= setTimeout(commitGroup, OUTCOME_LAG);
  sendMore();
}
