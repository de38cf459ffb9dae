import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { openDatabase } from "../../../src/store/sqlite/driver.ts";
import type { Process } from "../../binary/process.ts";
import { PATIENCE } from "../../binary/waiting.ts";
import { acceptingCalls, type Daemon, makeConfig, makeWorld, postCall, type World } from "../../binary/world.ts";
import { type Chance, createChance } from "../../simulate/random.ts";
import { ask, type DestinationStatus, eventually } from "../observe.ts";
import { type Disk, few, makeDisk } from "./disk.ts";
import { createLedger, DESTINATIONS, type DestinationName, type Ledger, type Stage, startStage } from "./load.ts";

/** New calls for each life of a daemon. */
const CALLS = 350;
/** Members of an audience. */
const MEMBERS = 200;

/** What an operator has done when the power goes. */
const ACTS = ["replay", "delete", "audience", "backup", "stop"] as const;
type Act = (typeof ACTS)[number];

export type RunOptions = {
  readonly seed: number;
  /** As in `DiskOptions`. */
  readonly lies?: string;
};

type Run = {
  readonly w: World;
  readonly disk: Disk;
  readonly chance: Chance;
  readonly ledger: Ledger;
  readonly stages: Readonly<Record<DestinationName, Stage>>;
  /** The user who is to be forgotten, and the requests for it that were acknowledged. */
  readonly leaver: { readonly id: string; readonly requests: string[] };
  /** What was to be sent again, and after how many requests that was asked for. */
  readonly replays: { readonly to: DestinationName; readonly messageId: string; readonly after: number }[];
  /** The audiences that were said to be written down. */
  readonly audiences: string[];
  /** The copies that were said to be made. */
  readonly copies: string[];
  /** What happened, for the message of a failure. */
  readonly story: string[];
};

/**
 * Has a daemon lose power once to three times, as the seed says, and then lets another finish. Throws if anything that was
 * acknowledged is lost. Answers how often the power went.
 */
export async function loseAndRestorePower({ seed, lies }: RunOptions): Promise<number> {
  const chance = createChance(seed);
  const cuts = chance.pick([1, 1, 1, 1, 2, 2, 3]);
  await using crm = startStage();
  await using lake = startStage();
  await using w = await makeWorld();
  const disk = makeDisk({ within: w.folder, lies });
  const run: Run = {
    ...{ w, disk, chance, stages: { crm, lake }, replays: [], audiences: [], copies: [], story: [] },
    ledger: createLedger(seed),
    leaver: { id: `leaver-${seed}-of-${chance.below(1_000_000)}`, requests: [] },
  };
  await w.write("config.yaml", configOf(run));
  try {
    for (let nth = 1; nth <= cuts; nth += 1) await liveUntilCut(run, nth * CALLS);
    await finish(run, cuts * CALLS);
  } catch (error) {
    throw new Error([`seed ${seed}: ${error instanceof Error ? error.message : error}`, ...run.story].join("\n"), {
      cause: error,
    });
  }
  return cuts;
}

function configOf({ stages, chance }: Run): string {
  const config = JSON.parse(makeConfig({ url: stages.crm.receiver.url, level: "debug" }));
  const lake = { ...config.destinations.crm, webhooks: [{ url: stages.lake.receiver.url }] };
  // What is pruned early, or for want of space, is written to as well.
  const outbox = {
    path: "disk/fairlead.db",
    keepDelivered: chance.pick(["24h", "24h", "0s"]),
    maxSize: chance.pick(["1GB", "1GB", "6MB"]),
  };
  return JSON.stringify({ ...config, outbox, destinations: { ...config.destinations, lake } });
}

/** One daemon, from its start to the cut. */
async function liveUntilCut(run: Run, calls: number): Promise<void> {
  const { w, disk, chance, story } = run;
  const moment = chance.pick(["start", "load", "load", "checkpoint", ...ACTS] as const);
  if (moment === "start") disk.cutIn(1 + chance.below(240));
  const process = w.run(["serve", "--config", "config.yaml"], { env: disk.env });
  const others: Process[] = [];
  let isAlive = true;
  void process.exit.then(() => {
    isAlive = false;
  });
  const daemon = await acceptingCalls(process).catch(() => null);
  if (daemon !== null) {
    if (moment === "load" || moment === "start") disk.cutIn(few(chance, 8_000));
    if (moment === "checkpoint") disk.cutIn(few(chance, 400), "database");
    const load = underLoad(run, daemon, { calls, isAlive: () => isAlive });
    if (isAct(moment)) await whileItActs(run, daemon, { moment, others, load });
    await load;
  }
  disk.cut();
  process.kill("SIGKILL");
  for (const one of others) await one[Symbol.asyncDispose]();
  const exit = await process.exit;
  story.push(`${moment}: ended by ${exit.signal ?? exit.code} ${disk.moment()}`);
  const isCut = exit.signal === "SIGKILL" && (daemon !== null || disk.moment() !== "");
  const isStopped = moment === "stop" && exit.code === 0;
  if (!isCut && !isStopped) throw new Error(`the daemon did not start, or has ended:\n${process.err.join("\n")}`);
  listen(run, process);
  story.push(`  found: ${disk.powerUp(chance)}`);
}

type Load = { readonly calls: number; readonly isAlive: () => boolean };

async function underLoad(run: Run, daemon: Daemon, { calls, isAlive }: Load): Promise<void> {
  for (const nth of [1, 2, 3]) {
    const call = {
      userId: run.leaver.id,
      event: "E",
      messageId: `l-${calls}-${nth}`,
      properties: { of: run.leaver.id },
    };
    await postCall(`${daemon.ingest}/v1/track`, call).catch(() => null);
  }
  await run.ledger.send(daemon.ingest, calls, isAlive);
}

function isAct(moment: string): moment is Act {
  return ACTS.some((act) => act === moment);
}

type Acting = {
  readonly moment: Act;
  readonly others: Process[];
  readonly load: Promise<void>;
};

/** Cuts the power while the operator has something done, in the middle of the load or after it. */
async function whileItActs(run: Run, daemon: Daemon, { moment, others, load }: Acting): Promise<void> {
  const { disk, chance, ledger } = run;
  const from = ledger.acknowledged.size + chance.below(CALLS);
  let isOver = false;
  void load.then(() => {
    isOver = true;
  });
  await eventually("some calls are taken", () => (isOver || ledger.acknowledged.size >= from ? true : null));
  // Either in the middle of it, or soon after it was said to be done.
  const isSoon = moment === "stop" || chance.happens(0.5);
  if (isSoon) disk.cutIn(few(chance, 3_000));
  await act(run, daemon, { moment, others }).catch(() => null);
  if (!isSoon) disk.cutIn(few(chance, 100));
}

async function act(run: Run, daemon: Daemon, { moment, others }: Omit<Acting, "load">): Promise<void> {
  const { w, disk, ledger, copies } = run;
  switch (moment) {
    case "replay":
      return await replay(run, daemon);
    case "delete":
      return await askToForget(run, daemon);
    case "audience":
      return await syncAudience(run, daemon);
    case "stop":
      daemon.process.kill("SIGTERM");
      return void (await daemon.process.exit);
    case "backup": {
      const copy = `disk/copy-${ledger.acknowledged.size}.db`;
      const process = w.run(["backup", copy, "--config", "config.yaml"], { env: disk.env });
      others.push(process);
      if ((await process.exit).code === 0) copies.push(copy);
    }
  }
}

async function post({ admin }: Daemon, path: string, body: object): Promise<Response> {
  const headers = { "Content-Type": "application/json" };
  return await fetch(`${admin}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
}

/** Has some that were delivered sent again. */
async function replay({ stages, chance, replays }: Run, daemon: Daemon): Promise<void> {
  const to = chance.pick(DESTINATIONS);
  const { receiver, replayed } = stages[to];
  const listed = await ask(daemon, `/api/deliveries?state=delivered&destination=${to}&limit=20`);
  const { deliveries } = (await listed.json()) as { deliveries: { id: string; messageId: string }[] };
  for (const { id, messageId } of deliveries.filter((one) => one.messageId?.startsWith("m-"))) {
    replayed.add(messageId);
    const after = receiver.hooks.length;
    const answer = await post(daemon, `/api/deliveries/${id}/retry`, {});
    const { did } = (await answer.json()) as { did?: string };
    if (answer.status === 200 && did === "replayed") replays.push({ to, messageId, after });
  }
}

async function askToForget({ leaver }: Run, daemon: Daemon): Promise<void> {
  const answer = await post(daemon, "/api/deletions", { userIds: [leaver.id], erase: true });
  const { id } = (await answer.json()) as { id: string };
  if (answer.status === 200) leaver.requests.push(id);
}

async function syncAudience({ audiences, ledger }: Run, { admin }: Daemon): Promise<void> {
  const name = `a${ledger.acknowledged.size}`;
  const body = JSON.stringify(Array.from({ length: MEMBERS }, (_, nth) => `member-${nth}`));
  const headers = { "Content-Type": "application/json" };
  const answer = await fetch(`${admin}/api/sources/website/audiences/${name}`, { method: "PUT", headers, body });
  if (answer.status === 200) audiences.push(name);
}

/** What a daemon has said that must not come again, and what it must not say at all. */
function listen({ stages }: Run, { out, err }: Process): void {
  for (const line of [...out, ...err]) {
    const [, messageId = "", to = ""] =
      /msg=delivery\.delivered .*event=(\S+) destination=(crm|lake) /.exec(line) ?? [];
    if (to !== "") stages[to as DestinationName].said.add(messageId);
    assert.doesNotMatch(line, /store\.failed|daemon\.unexpected|level=fatal/);
  }
}

/** One more daemon, which does all that is left to do. */
async function finish(run: Run, calls: number): Promise<void> {
  const { w, disk, ledger, stages, leaver } = run;
  const daemon = await w.serve({ env: disk.env });
  const until = Date.now() + PATIENCE;
  await ledger.send(daemon.ingest, calls, () => Date.now() < until);
  assert.equal(ledger.acknowledged.size, calls, "all calls are taken in the end");
  // There are calls of that user since an earlier request.
  await askToForget(run, daemon);
  await eventually("nothing waits", async () => {
    const { destinations } = (await (await ask(daemon, "/api/status")).json()) as { destinations: DestinationStatus[] };
    return destinations.every(({ counts }) => counts.waiting === 0) ? true : null;
  });
  let deletions: readonly { id: string; status: string }[] = [];
  await eventually("all deletions are done", async () => {
    ({ deletions } = (await (await ask(daemon, "/api/deletions")).json()) as { deletions: typeof deletions });
    return deletions.every(({ status }) => status === "finished") ? true : null;
  });
  const missing = leaver.requests.filter((request) => !deletions.some(({ id }) => id === request));
  assert.deepEqual(missing, [], "a deletion is lost");
  for (const name of DESTINATIONS) assertDelivered(run, name);
  await ledger.repeat(daemon.ingest);
  daemon.process.kill("SIGTERM");
  assert.deepEqual(await daemon.process.exit, { code: 0, signal: null });
  listen(run, daemon.process);
  for (const { again } of Object.values(stages))
    assert.deepEqual(again, [], "what was said to be delivered comes again");
  await assertWhole(run);
}

function assertDelivered(run: Run, name: DestinationName): void {
  const { ledger, stages, replays, leaver, audiences } = run;
  const { receiver } = stages[name];
  const lost = [...ledger.acknowledged].filter((id) => !receiver.delivered.has(id));
  assert.deepEqual(lost.slice(0, 10), [], `${lost.length} acknowledged calls are lost to ${name}`);
  assert.deepEqual(ledger.wrong(receiver).slice(0, 10), []);
  const missed = replays.filter(
    ({ to, messageId, after }) =>
      to === name && !receiver.hooks.slice(after).some((hook) => hook.messageId === messageId),
  );
  assert.deepEqual(missed, [], "a replay is lost");
  for (const audience of audiences) {
    const calls = receiver.hooks.filter(({ body }) => body.includes(`"traits":{"${audience}":true}`));
    const members = new Set(calls.map(({ body }) => JSON.parse(body).userId));
    assert.deepEqual([members.size, new Set(calls.map(({ messageId }) => messageId)).size], [MEMBERS, MEMBERS]);
  }
  const told = receiver.hooks.some(({ body }) => body.includes(`"type":"delete","userId":"${leaver.id}"`));
  assert.ok(told, `${name} was not told that ${leaver.id} is to be forgotten`);
}

/** What the files are like at the end. */
async function assertWhole({ w, disk, leaver, copies }: Run): Promise<void> {
  for (const name of copies) {
    const copy = await openDatabase(w.path(name));
    assert.deepEqual(copy.pragma("integrity_check"), [{ integrity_check: "ok" }], name);
    assert.equal(Number(copy.prepare("SELECT count(*) FROM events").pluck().get()) > 0, true, `${name} is empty`);
    copy.close();
  }
  const doctor = w.run(["doctor", "--full", "--json", "--config", "config.yaml"]);
  await doctor.exit;
  const { findings } = JSON.parse(doctor.out.join("\n")) as { findings: { check: string; level: string }[] };
  const bad = findings.filter(({ check, level }) => check === "store" && level !== "ok");
  assert.deepEqual(bad, []);
  for (const name of (await readdir(disk.folder)).filter((one) => one.startsWith("fairlead.db"))) {
    const bytes = await readFile(join(disk.folder, name));
    assert.ok(!bytes.includes(leaver.id), `a user who was erased is still in ${name}`);
  }
}
