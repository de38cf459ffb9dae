// What real client libraries have sent, recorded byte by byte, is sent again: the answers are what they need, and the
// bodies that go out are exactly those in test/fixtures/recordings/webhooks.json.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { Secret } from "../../src/model/secret.ts";
import { startDaemon, type TestDaemon } from "./daemon.ts";
import { makeSource } from "./make.ts";

type Recorded = {
  readonly method: string;
  readonly path: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly bodyText?: string;
  readonly bodyBase64?: string;
};
type Recording = { readonly client: string; readonly scenario: string; readonly requests: readonly Recorded[] };

const FOLDER = fileURLToPath(new URL("../fixtures/recordings/", import.meta.url));
const NAMES = readdirSync(FOLDER).filter((name) => name !== "webhooks.json");
const WEBHOOKS: Readonly<Record<string, readonly string[]>> = read("webhooks.json");

function read<T>(name: string): T {
  return JSON.parse(readFileSync(`${FOLDER}${name}`, "utf8"));
}

async function replay(d: TestDaemon, { requests }: Recording): Promise<readonly string[]> {
  for (const { method, path, headers, bodyText = "", bodyBase64 } of requests) {
    const body = bodyBase64 === undefined ? Buffer.from(bodyText) : Buffer.from(bodyBase64, "base64");
    const { status, json } = await d.send(path, {
      method,
      headers: Object.fromEntries(headers),
      ...(method === "POST" && { body }),
    });
    if (method === "OPTIONS") assert.equal(status, 204);
    else assert.equal(status, 200, JSON.stringify(json));
    if (method === "POST") assert.deepEqual([json.success, json.duplicate, json.rejected], [true, 0, undefined]);
  }
  await d.clock.rest();
  return d.sent.map(({ body }) => body);
}

describe("a recorded client", () => {
  for (const name of NAMES) {
    const recording: Recording = read(name);
    it(`is answered as it needs, and its calls go out: ${recording.client}, ${recording.scenario}`, async () => {
      const keys = ["gov2", "node", "rudder", "web"].map((key) => `WRITE_KEY_${key}`);
      const sources = keys.map((key) => makeSource({ name: key, writeKey: new Secret(key) }));
      await using d = await startDaemon({ config: { sources } });
      assert.deepEqual(await replay(d, recording), WEBHOOKS[name]);
    });
  }

  it("is there for each list of webhooks, and each list for one", () => {
    assert.deepEqual(Object.keys(WEBHOOKS).sort(), NAMES.toSorted());
  });
});
