// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references, as config files have them.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { PATIENT } from "./waiting.ts";
import { KEY, makeConfig, makeWorld, postCall, type World } from "./world.ts";

const NOWHERE = "http://127.0.0.1:9/hooks";

type Ended = { readonly code: number | null; readonly out: string; readonly err: string };

async function rejected(w: World, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> {
  const process = w.run(["rejected", ...args], { env });
  const { code } = await process.exit;
  return { code, out: process.out.join("\n"), err: process.err.join("\n") };
}

describe("fairlead rejected", () => {
  it("shows a bad call: why it was refused, who sent it, and how it begins", PATIENT, async () => {
    await using w = await makeWorld();
    await w.write("config.yaml", makeConfig({ url: NOWHERE, admin: `unix:${w.path("admin.sock")}` }));
    const daemon = await w.serve();
    assert.equal((await rejected(w, [])).out, "No call was refused since the daemon started.");
    const headers = { "User-Agent": "bad-client/1.0", ...basic(KEY) };
    const bad = await postCall(`${daemon.ingest}/v1/track`, { userId: "u1", messageId: "m1" }, { headers });
    assert.equal(bad.status, 400);
    const { code, out, err } = await rejected(w, []);
    assert.deepEqual([code, err], [0, ""]);
    assert.match(out, /^2\d{3}-\d\d-\d\dT[\d:.]{12}Z website: missing_event$/m);
    assert.match(out, /^ {2}track, messageId m1$/m);
    assert.match(out, /^ {2}POST \/v1\/track from 127\.0\.0\.1, bad-client\/1\.0$/m);
    assert.match(out, /^ {4}{"userId":"u1","messageId":"m1"}$/m);
  });

  it("keeps the write key to itself", PATIENT, async () => {
    await using w = await makeWorld();
    await w.write("config.yaml", makeConfig({ url: NOWHERE }));
    const daemon = await w.serve();
    const key = `stolen-${crypto.randomUUID()}`;
    const body = { userId: "u1", event: "E", writeKey: key };
    const answer = await postCall(`${daemon.ingest}/v1/track?writeKey=${key}`, body, { headers: basic(key) });
    assert.equal(answer.status, 401);
    const { out } = await rejected(w, ["--admin", daemon.admin, "--json"]);
    const [one] = JSON.parse(out).rejected;
    assert.partialDeepStrictEqual(one, { source: null, code: "unknown_write_key", request: "POST /v1/track" });
    assert.ok(!out.includes(key));
  });

  it("finds each bad call of a batch by its code", PATIENT, async () => {
    await using w = await makeWorld();
    await w.write("config.yaml", makeConfig({ url: NOWHERE }));
    const daemon = await w.serve();
    const good = { type: "track", userId: "u1", event: "E" };
    const batch = [good, { ...good, event: "" }, { ...good, userId: "" }, { ...good, event: "", messageId: "m4" }];
    assert.equal((await daemon.call("/v1/batch", { batch })).status, 200);
    const { out } = await rejected(w, ["--admin", daemon.admin, "--code", "missing_event", "--json"]);
    const found: readonly { readonly messageId: string | null }[] = JSON.parse(out).rejected;
    assert.deepEqual(
      found.map(({ messageId }) => messageId),
      ["m4", null],
    );
  });

  it("reads of the config no secret but the token", PATIENT, async () => {
    await using w = await makeWorld();
    const config = JSON.parse(makeConfig({ url: NOWHERE, admin: `unix:${w.path("admin.sock")}` }));
    config.admin.token = "${file:admin-token}";
    config.destinations.crm.sharedSecret = "${credential:crm-secret}";
    await w.write("config.yaml", JSON.stringify(config));
    await w.write("admin-token", "the-admin-token\n");
    await w.write("crm-secret", "s");
    await w.serve({ env: { CREDENTIALS_DIRECTORY: w.folder } });
    assert.equal((await rejected(w, [])).code, 0);
    const wrong = await rejected(w, [], { FAIRLEAD_ADMIN_TOKEN: "another" });
    assert.equal(wrong.code, 1);
    assert.match(
      wrong.err,
      /^fairlead: the daemon at unix:\S+ \(admin\.listen of config\.yaml\) refuses \$FAIRLEAD_ADMIN_TOKEN:/,
    );
  });

  it("asks whether the daemon runs if it does not", PATIENT, async () => {
    await using w = await makeWorld();
    const admin = `unix:${w.path("admin.sock")}`;
    await w.write("config.yaml", makeConfig({ url: NOWHERE, admin }));
    const { code, err } = await rejected(w, []);
    assert.equal(code, 1);
    const why = "there is no such socket; is fairlead serve running? If it has another address, name it with --admin";
    assert.equal(err, `fairlead: cannot reach the daemon at ${admin} (admin.listen of config.yaml): ${why}`);
  });

  it("sees through an address that is not the admin listener's", PATIENT, async () => {
    await using w = await makeWorld();
    await w.write("config.yaml", makeConfig({ url: NOWHERE }));
    const { ingest } = await w.serve();
    const { code, err } = await rejected(w, ["--admin", ingest]);
    assert.equal(code, 1);
    assert.match(err, /has nothing at \/api\/rejected: .* the address of its ingest listener$/);
  });
});

function basic(key: string): Record<string, string> {
  return { Authorization: `Basic ${btoa(`${key}:`)}` };
}
