import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { beginCommand, SLOW } from "./run.ts";

const folder = mkdtempSync(join(tmpdir(), "fairlead-names-"));
after(() => rmSync(folder, { recursive: true }));
const config = join(folder, "config.yaml");
writeFileSync(config, "sources: { website: {}, app: 1 }\ndestinations: { crm: *x, mail: }\n");
const good = join(folder, "good.yaml");
writeFileSync(good, "sources: { website: {}, app: 1 }\ndestinations: { crm: 2, mail: }\n");

/** Somebody at the place of the daemon who answers this, or nothing at all. */
async function startDaemon(answer: object | null) {
  const server = createServer((_, response) => {
    if (answer) response.end(JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

describe("fairlead names", () => {
  it("prints those that the running daemon knows", SLOW, async () => {
    const named = { sources: [{ name: "web" }], destinations: [{ name: "new" }, { name: "removed" }, { name: "a b" }] };
    await using daemon = await startDaemon(named);
    const where = ["--admin", daemon.address];
    assert.deepEqual(await beginCommand(["names", "destinations", ...where]).ended, {
      ...{ code: 0, out: "new\nremoved\n", err: "" },
    });
    assert.equal((await beginCommand(["names", "sources", ...where]).ended).out, "web\n");
  });

  it(
    "prints those of the config if the daemon does not answer at once, however wrong the rest of it is",
    SLOW,
    async () => {
      await using daemon = await startDaemon(null);
      for (const file of [good, config]) {
        const args = ["names", "destinations", "--admin", daemon.address, "--config", file];
        assert.deepEqual(await beginCommand(args).ended, { code: 0, out: "crm\nmail\n", err: "" });
      }
    },
  );

  it("prints nothing where there is nothing to read, and does not complain", SLOW, async () => {
    const args = ["names", "sources", "--config", join(folder, "nowhere.yaml")];
    assert.deepEqual(await beginCommand(args).ended, { code: 0, out: "", err: "" });
  });

  it("is not among the commands of --help", SLOW, async () => {
    assert.doesNotMatch((await beginCommand(["--help"]).ended).out, /^ {2}names/m);
  });
});
