// Our client library and the official ones, side by side, against a server that fails: what each loses and repeats.
import assert from "node:assert/strict";
import { join } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { ROOT } from "../binary/binary.ts";
import { start } from "../binary/process.ts";
import { CALLS, FAULTS, startChaos, summarise, type Told } from "../client/chaos.ts";
import { CHAOS_CLIENTS, readChaosTable } from "../client/chaos-table.ts";
import { pack } from "../client/pack.ts";

const PROGRAM = fileURLToPath(new URL("clients/chaos.mjs", import.meta.url));
/** How long each is given to close. */
const DEADLINE_MS = 20_000;

type Run = { readonly library: "fairlead" | "segment" | "old"; readonly module: string };

/** A program of one library makes its calls to all servers at once. Answers a cell of the table by fault. */
async function run({ library, module }: Run): Promise<ReadonlyMap<string, string>> {
  await using all = new AsyncDisposableStack();
  const servers = await Promise.all(
    FAULTS.map(async (fault) => ({ name: fault.name, chaos: await startChaos(fault) })),
  );
  for (const { chaos } of servers) all.defer(chaos.close);
  const jobs = servers.map(({ name, chaos }) => ({ name, url: chaos.url }));
  const orders = JSON.stringify({ library, module, jobs, count: CALLS, deadlineMs: DEADLINE_MS });
  const env = { PATH: process.env.PATH, NODE_EXTRA_CA_CERTS: join(ROOT, "test/fixtures/tls/ca.crt") };
  await using program = start(Bun.which("node") ?? assert.fail("there is no node"), [PROGRAM, orders], { env });
  const { code } = await program.exit;
  assert.equal(code, 0, program.err.join("\n"));
  const told = new Map(program.out.filter((line) => line.startsWith("{")).map((line) => read(line)));
  return new Map(
    servers.map(({ name, chaos }) => [name, summarise(chaos, told.get(name) ?? assert.fail(`nothing of ${name}`))]),
  );
}

function read(line: string): readonly [string, Told] {
  const { name, ...told } = JSON.parse(line);
  return [name, told];
}

describe("our client library and the official ones", () => {
  it("lose, repeat and report what docs/send/fairlead-failures.md shows", { timeout: 110_000 }, async () => {
    const folder = join(ROOT, "dist/test/chaos-client");
    pack(folder);
    const own = pathToFileURL(join(folder, "lib/client/analytics.js")).href;
    const facade = pathToFileURL(join(folder, "lib/client/segment/analytics.js")).href;
    const runs: readonly Run[] = [
      { library: "fairlead", module: own },
      { library: "segment", module: facade },
      { library: "segment", module: "@segment/analytics-node" },
      { library: "segment", module: "segment-node-2" },
      { library: "old", module: "analytics-node" },
      { library: "old", module: "@rudderstack/rudder-sdk-node" },
    ];
    assert.equal(runs.length, CHAOS_CLIENTS.length);
    const columns = await Promise.all(runs.map(run));
    const documented = readChaosTable();
    const different = FAULTS.flatMap(({ name }) =>
      CHAOS_CLIENTS.map((client, nth) => {
        const [wanted, got] = [documented.get(name)?.[nth], columns[nth]?.get(name)];
        return wanted === got ? "" : `${name}, ${client}: ${got} (in the manual: ${wanted})`;
      }),
    );
    const table = FAULTS.map(({ name }) => `| ${[name, ...columns.map((cells) => cells.get(name))].join(" | ")} |`);
    assert.deepEqual(
      different.filter((line) => line !== ""),
      [],
      `what was measured:\n${table.join("\n")}\n${different.join("\n").trim()}`,
    );
  });
});
