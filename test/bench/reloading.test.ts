import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type Reloading, whileReloading } from "../../bench/reloading.ts";

const CHANGED = { success: true, changes: ["one", "two", "three", "four"], needsRestart: [], problems: [] };

describe("whileReloading", () => {
  let folder = "";
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "fairlead-bench-"));
  });
  after(() => rmSync(folder, { recursive: true }));

  it("has another config read each time, until the work is done", async () => {
    const read: string[] = [];
    const third = Promise.withResolvers<string>();
    using admin = answering(() => {
      if (read.push(readFileSync(join(folder, "config.yaml"), "utf8")) === 3) third.resolve("done");
      return CHANGED;
    });
    const { result, durations } = await whileReloading(reloadingOf(admin), () => third.promise);
    assert.deepEqual([result, durations.length, read], ["done", 3, ["config 1", "config 2", "config 3"]]);
  });

  it("fails when a reload is refused or changes nothing, although the work goes on", async () => {
    for (const answer of [
      { success: false, problems: [] },
      { ...CHANGED, changes: [] },
    ]) {
      using admin = answering(() => answer);
      const run = whileReloading(reloadingOf(admin), () => new Promise<never>(() => {}));
      await assert.rejects(run, /a reload did not do what it should/);
    }
  });

  function reloadingOf({ port }: { readonly port: number }): Reloading {
    return {
      server: { adminPort: port, config: join(folder, "config.yaml") },
      configOf: (revision) => `config ${revision}`,
    };
  }
});

function answering(answer: () => object): { readonly port: number } & Disposable {
  const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => Response.json(answer()) });
  return { port: server.port ?? 0, [Symbol.dispose]: () => void server.stop(true) };
}
