import assert from "node:assert/strict";
import process from "node:process";
import { describe, it } from "node:test";
import { PATIENCE } from "../binary/waiting.ts";
import { MISSING } from "./power-cut/disk.ts";
import { cutCreation, cutRestore, makeStores } from "./power-cut/files.ts";
import { loseAndRestorePower } from "./power-cut/run.ts";

/** POWER_CUT_SEED is the first seed, POWER_CUTS how many there are: a hundred without it, and with a first one that alone. */
const FIRST = Number(process.env.POWER_CUT_SEED ?? 1);
const COUNT = Number(process.env.POWER_CUTS ?? (process.env.POWER_CUT_SEED ? 1 : 100));
/** So many are one test. */
const TOGETHER = 10;
/** A disk that lies is found out by the first of them, or by one soon after. */
const SEEDS_FOR_LIES = 5;

const LONG = { timeout: TOGETHER * PATIENCE, skip: MISSING };

describe("a daemon whose power is cut", () => {
  for (let first = FIRST; first < FIRST + COUNT; first += TOGETHER) {
    const seeds = Array.from({ length: Math.min(TOGETHER, FIRST + COUNT - first) }, (_, nth) => first + nth);
    it(`loses nothing that it has acknowledged, by seeds ${seeds.at(0)} to ${seeds.at(-1)}`, LONG, async () => {
      for (const seed of seeds) await loseAndRestorePower({ seed }).catch((error: Error) => explain(error, seed));
    });
  }
});

function explain(error: Error, seed: number): never {
  const again = `POWER_CUT_SEED=${seed} bun test --no-orphans ./test/long/power-cut.long.ts -t "loses nothing that"`;
  throw new Error(`${error.message}\nAgain, as far as the machine's timing lets it: ${again}`, { cause: error });
}

describe("a power cut", () => {
  it("while the outbox is made leaves one that the next start uses", LONG, async () => {
    for (let seed = 1; seed <= 10; seed += 1) await cutCreation(seed);
  });

  it("in the middle of a restore leaves one outbox or the other, and the old one is kept", LONG, async () => {
    await using stores = await makeStores();
    for (let seed = 1; seed <= 30; seed += 1) await cutRestore(seed, stores);
  });
});

describe("a disk that lies about syncing", () => {
  const lies = [
    { of: "anything", ends: "*" },
    { of: "the write-ahead log", ends: "-wal" },
    { of: "the database", ends: "fairlead.db" },
    { of: "the folder", ends: "/" },
  ];
  for (const { of, ends } of lies) {
    it(`of ${of} is found out`, LONG, async () => {
      let found: Error | null = null;
      for (let seed = 1; seed <= SEEDS_FOR_LIES && found === null; seed += 1) {
        found = await loseAndRestorePower({ seed, lies: ends }).then(
          () => null,
          (error: Error) => error,
        );
      }
      assert.notEqual(found, null);
    });
  }
});
