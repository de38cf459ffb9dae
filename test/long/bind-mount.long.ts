import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { describe, it } from "node:test";
import { findBinary } from "../binary/binary.ts";
import { start } from "../binary/process.ts";
import { startReceiver } from "../binary/receiver.ts";
import { PATIENT } from "../binary/waiting.ts";
import { acceptingCalls, makeConfig, makeWorld } from "../binary/world.ts";
import { MISSING } from "./small-disk.ts";

describe("an outbox that is mounted at another path", () => {
  it("is refused where the file alone is, and used by one daemon where its folder is", {
    ...PATIENT,
    skip: MISSING,
  }, async () => {
    await using receiver = startReceiver();
    await using w = await makeWorld();
    const config = JSON.parse(makeConfig({ url: receiver.url }));
    for (const name of ["data", "other", "alone"]) await mkdir(w.path(name));
    for (const name of ["data", "other", "alone"]) {
      const outbox = { path: w.path(`${name}/fairlead.db`) };
      await w.write(`${name}.yaml`, JSON.stringify({ ...config, outbox }));
    }
    await using first = w.run(["serve", "--config", "data.yaml"]);
    await acceptingCalls(first);

    await writeFile(w.path("alone/fairlead.db"), "");
    for (const [name, from, to, said] of [
      [
        "alone",
        "data/fairlead.db",
        "alone/fairlead.db",
        /cannot open outbox .*: the file itself is a mount point, .*mount its folder/,
      ],
      ["other", "data", "other", /cannot open outbox .*: another Fairlead \(pid \d+\) has it open/],
    ] as const) {
      const inside = `mount --bind "$1" "$2" && exec "$3" serve --config "$4"`;
      const args = [w.path(from), w.path(to), findBinary(), w.path(`${name}.yaml`)];
      await using second = start("unshare", ["--mount", "sh", "-c", inside, "sh", ...args], {
        env: { PATH: process.env.PATH, TMPDIR: w.folder },
      });
      assert.match(await second.line(/^fairlead: /), said);
      assert.equal((await second.exit).code, 1);
    }
  });
});
