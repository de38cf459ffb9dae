// `delete-user --from`: a file of any bytes names users, or is refused with a word.
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { inParts, readUsers } from "../../src/cli/delete-user.ts";
import { type Fuzzed, fuzz } from "./fuzz.ts";
import { type Text, textLike, written } from "./text.ts";

type Input = { readonly text: Text; readonly raw: boolean };

const likeness = {
  seeds: ["u1\nu2\n", "\uFEFFu1\r\nu1\r\n\r\nu2", "\n\n", 'user with "quotes", and spaces \n\u0000\n'],
  pieces: ["u1", "u2", "\n", "\r\n", "\r", " ", ",", "__proto__"],
};

fuzz<Input>({ name: "users", input: fc.record({ text: textLike(likeness), raw: fc.boolean() }), runs: 200, start });

async function start(): Promise<Fuzzed<Input>> {
  const folder = await mkdtemp(join(tmpdir(), "fairlead-fuzz-"));
  const from = join(folder, "users.txt");
  return {
    async holds({ text, raw }) {
      await writeFile(from, Buffer.from(written(text), raw ? "latin1" : "utf8"));
      const users = await readUsers([], { from });
      if ("code" in users) return assert.ok(users.message.includes(from));
      assert.ok(users.length > 0 && users.every((user) => user !== "" && !user.includes("\n")));
      assert.equal(new Set(users).size, users.length);
      assert.deepEqual(inParts(users).flat(), users);
      assert.ok(inParts(users).every((part) => part.length > 0 && part.length <= 1_000));
    },
    stop: () => rm(folder, { recursive: true, force: true }),
  };
}
