import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type OpenStore, startStore } from "../harness.ts";
import type { Abilities } from "./sharing.ts";

function marks(...entries: readonly (readonly [string, number | null])[]): ReadonlyMap<string, number | null> {
  return new Map(entries);
}

export function describeMarks(open: OpenStore, { clock }: Abilities): void {
  describe("marks", () => {
    it("are none at first, whatever else the store remembers", async () => {
      await using s = await startStore(open);
      await s.append();
      assert.deepEqual(await s.store().marks.all("notify/"), marks());
    });

    it("are what was saved last under each name, also after a restart", async () => {
      await using s = await startStore(open);
      assert.equal(await s.store().marks.save(marks(["a/x", 1], ["a/y", Date.UTC(2026, 0)], ["a/%_z", 3])), null);
      await s.store().marks.save(marks(["a/x", 4], ["a/y", null], ["a/unknown", null]));
      for (const again of [false, true]) {
        if (again) await s.reopen();
        assert.deepEqual(new Map([...(await s.store().marks.all("a/"))].sort()), marks(["a/%_z", 3], ["a/x", 4]));
      }
    });

    it("are found by how their names begin, to the letter", async () => {
      await using s = await startStore(open);
      await s.store().marks.save(marks(["a/x", 1], ["a_x", 2], ["A/x", 3], ["b/a/x", 4], ["a/ü", 5]));
      assert.deepEqual(await s.store().marks.all("a/"), marks(["a/x", 1], ["a/ü", 5]));
    });

    it("are not of the future, wherever the machine's clock stands after a crash", async () => {
      await using s = await startStore(open);
      await s.append();
      await s.clock.advance("30s");
      const at = s.clock.now();
      await s.store().marks.save(marks(["a/x", at]));
      if (clock === "machine") s.clock.setWall(0);
      await s.reopen();
      assert.ok(s.clock.now() >= at);
    });
  });
}
