import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type AdminWorld, createAdmin } from "../../src/admin/api.ts";
import { MOST_LISTED } from "../../src/admin/search.ts";
import { MOST_IN_PAGE } from "../../src/cli/deliveries.ts";
import type { ListedDelivery, PageAsk, Search } from "../../src/model/lookup.ts";

import { createServe } from "../../src/runtime/serve.ts";
import { UNSHIFTED } from "../flow/clock.ts";
import { askAdmin, SLOW } from "./run.ts";

const LISTEN = { kind: "tcp", host: "127.0.0.1", port: 0 } as const;
const NOW = Date.UTC(2026, 10, 20, 12);

function makeListed(id: number): ListedDelivery {
  return {
    ...{ id, destination: "crm", state: "failed", source: "website", type: "track", messageId: `m${id}` },
    ...{
      userId: "u\u001b1",
      acceptedAt: NOW - 60_000,
      replayedAt: null,
      attempts: 1,
      dueAt: null,
      settledAt: NOW,
      url: null,
      status: null,
    },
    reason: "refused: answered 400",
  };
}

type Asked = { readonly search: Search; readonly page: PageAsk };

/** The operator's API of a daemon with five deliveries, of which it finds two at a time, and each second time none. */
async function startAdmin() {
  const asked: Asked[] = [];
  const world: Pick<AdminWorld, "admin" | "clock" | "timeline" | "lookup" | "destinations"> = {
    admin: () => ({ listen: LISTEN, token: null }),
    clock: { now: () => NOW } as AdminWorld["clock"],
    timeline: UNSHIFTED,
    destinations: () => [],
    lookup: {
      async deliveries(search, page) {
        asked.push({ search, page });
        const step = Number(page.cursor ?? 0);
        if (step % 2 === 1) return { deliveries: [], cursor: String(step + 1) };
        const ids = [5 - step, 4 - step].filter((id) => id > 0).slice(0, page.limit);
        return { deliveries: ids.map(makeListed), cursor: step < 4 ? String(step + 1) : null };
      },
      delivery: async () => null,
      event: async () => ({ events: [], seen: [], complete: true }),
    },
  };
  const listener = await createServe()(LISTEN, createAdmin(world as AdminWorld));
  return {
    asked,
    run: (...args: readonly string[]) => askAdmin(["deliveries", ...args], listener.address).ended,
    [Symbol.asyncDispose]: () => listener.stop(),
  };
}

describe("fairlead deliveries", () => {
  it("asks page after page until it has as many as it shall list", SLOW, async () => {
    await using admin = await startAdmin();
    const { code, out, err } = await admin.run("--limit", "3", "--state", "failed", "--since", "2h");
    assert.deepEqual([code, err], [0, ""]);
    assert.deepEqual(
      [...out.matchAll(/^(\d-crm) .*u\\u001b1/gm)].map(([, id]) => id),
      ["5-crm", "4-crm", "3-crm"],
    );
    assert.match(out, /\n3 deliveries, the newest first\. There are others: --limit 30 shows more\.\n$/);
    assert.deepEqual(
      admin.asked.map(({ page }) => page),
      [
        { limit: 3, cursor: null },
        { limit: 1, cursor: "1" },
        { limit: 1, cursor: "2" },
      ],
    );
    assert.equal(admin.asked[0]?.search.since, NOW - 2 * 3_600_000);
  });

  it("prints JSON, with the cursor of what is left", SLOW, async () => {
    await using admin = await startAdmin();
    const { out } = await admin.run("--json", "--user", "u1");
    const { deliveries, cursor } = JSON.parse(out);
    assert.deepEqual(
      [deliveries.map(({ id }: { id: string }) => id), cursor],
      [["5-crm", "4-crm", "3-crm", "2-crm", "1-crm"], null],
    );
    assert.equal(admin.asked[0]?.search.user, "u1");
  });

  it("says what is wrong with an option, or with an id", SLOW, async () => {
    await using admin = await startAdmin();
    const { code, err } = await admin.run("--state", "faild");
    assert.deepEqual(
      [code, err.split("\n")[0]],
      [2, "error: option '--state <state>' argument 'faild' is invalid. Did you mean failed?"],
    );
    const shown = await admin.run("show", "7-crm", "--json");
    assert.equal(shown.code, 1);
    assert.match(shown.err, / refused with 404 unknown_delivery: there is no delivery \\"7-crm\\"/);
    assert.equal(JSON.parse(shown.err).code, "unknown_delivery");
    assert.deepEqual(admin.asked, []);
  });

  it("asks for no more than the daemon gives at once", () => {
    assert.equal(MOST_IN_PAGE, MOST_LISTED);
  });
});
