import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { loadConfig } from "../../src/config/load.ts";
import type { SpaceFor } from "../../src/model/space.ts";
import { GB, MB } from "../../src/model/units.ts";
import { NOW, worldOf } from "./world.ts";

const REST = `sources: { website: { writeKey: abc } }
destinations: { crm: { webhooks: [{ url: https://crm.example.com }] } }
`;
const OUTBOX = "outbox:\n  path: /var/lib/fairlead/fairlead.db\n  maxSize: 1GB\n";

function warningsOn(space: ReturnType<SpaceFor>, outbox = OUTBOX) {
  const asked: string[] = [];
  const spaceFor: SpaceFor = (path) => {
    asked.push(path);
    return space;
  };
  const text = outbox + REST;
  const { config, problems } = loadConfig({ file: "/etc/config.yaml", text, resolve: worldOf(), now: NOW, spaceFor });
  assert.ok(config);
  assert.ok(problems.every(({ severity, path }) => severity === "warning" && path === "outbox.maxSize"));
  return { asked, problems, messages: problems.map(({ message }) => message) };
}

describe("a disk that is smaller than the outbox may become", () => {
  it("is warned of at maxSize, with the numbers", () => {
    const { asked, problems, messages } = warningsOn({ free: 900 * MB, total: GB, used: 0 });
    assert.deepEqual(messages, [
      "is more than the disk has room for: 1GB and outbox.freeDisk (64MB) do not fit on the 1GB of the disk of " +
        "/var/lib/fairlead/fairlead.db; calls are refused before",
    ]);
    assert.deepEqual([problems[0]?.line, problems[0]?.column], [3, 12]);
    assert.deepEqual(asked, ["/var/lib/fairlead/fairlead.db"]);
  });

  it("is one of which others have taken too much, too; what the outbox has is its own", () => {
    assert.deepEqual(warningsOn({ free: 300 * MB, total: 20 * GB, used: 0 }).messages, [
      "is more than the disk has room for: 1GB and outbox.freeDisk (64MB) do not fit into the 300MB that are free on " +
        "the disk of /var/lib/fairlead/fairlead.db; calls are refused before",
    ]);
    const [message] = warningsOn({ free: 300 * MB, total: 20 * GB, used: 700 * MB }).messages;
    assert.match(message ?? "", /the 300MB that are free on .*, with the 700MB that the outbox has; calls/);
    assert.deepEqual(warningsOn({ free: 388 * MB, total: 20 * GB, used: 700 * MB }).messages, []);
  });

  it("is not one without a bound that fits, nor one that nobody knows", () => {
    assert.deepEqual(warningsOn({ free: 1.1 * GB, total: 20 * GB, used: 0 }).messages, []);
    assert.deepEqual(warningsOn(null).messages, []);
    const unbounded = `${OUTBOX}  freeDisk: 0\n`;
    assert.deepEqual(warningsOn({ free: GB, total: GB, used: 0 }, unbounded).messages, []);
    const [message] = warningsOn({ free: 0, total: MB, used: 0 }, unbounded).messages;
    assert.match(message ?? "", /: 1GB do not fit on the 1MB of/);
  });

  it("is found with the default as well, at the section or at the beginning", () => {
    const small = { free: 0, total: MB, used: 0 };
    assert.deepEqual(place(warningsOn(small, "log: {}\noutbox: {}\n")), [2, 1]);
    assert.deepEqual(place(warningsOn(small, "")), [1, 1]);
  });
});

function place({ problems }: ReturnType<typeof warningsOn>): readonly unknown[] {
  return [problems[0]?.line, problems[0]?.column];
}
