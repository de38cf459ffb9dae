import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createFindSource } from "../../src/ingest/write-key.ts";
import { isFault } from "../../src/model/fault.ts";
import { basic, SOURCES, startIngest } from "./make.ts";

/** The name of the source, or the code of the fault. */
function find(authorization: string | null): string {
  const headers: Record<string, string> = authorization === null ? {} : { authorization };
  const found = createFindSource(SOURCES).anywhere(
    new Request("http://127.0.0.1/v1/track", { method: "POST", headers }),
    {},
  );
  return isFault(found) ? found.code : found.name;
}

describe("the write key in Basic authorization", () => {
  it("is the user name", () => assert.equal(find(basic("website-key:")), "website"));
  it("may come with any password", () => assert.equal(find(basic("website-key:hunter2")), "website"));
  it("may come without a colon", () => assert.equal(find(basic("website-key")), "website"));
  it("ends at the first colon", () => assert.equal(find(basic("app:key:")), "unknown_write_key"));

  it("may come with the scheme in any case of letters", () => {
    for (const scheme of ["basic", "BASIC", "Basic"]) {
      assert.equal(find(basic("website-key:").replace("Basic", scheme)), "website");
    }
  });

  it("may come after several spaces", () => {
    assert.equal(find(basic("website-key:").replace(" ", "   ")), "website");
  });

  it("may come in base64 without padding", () => {
    assert.equal(find(basic("website-key").replace(/=+$/, "")), "website");
  });

  it("is missing where there is none", () => {
    for (const header of [
      null,
      "",
      "Basic",
      "Basic ",
      "Bearer website-key",
      "website-key",
      basic(":"),
      basic(":website-key"),
    ]) {
      assert.equal(find(header), "missing_write_key", String(header));
    }
  });

  it("is unknown where it is another's, or garbage", () => {
    const keys = ["Website-key:", "website-ke:", "website-key :", " website-key:", "__proto__:", "\u0000:"];
    for (const header of [...keys.map(basic), "Basic AAAA", "Basic /////w==", "Basic !!YQ!!"]) {
      assert.equal(find(header), "unknown_write_key", header);
    }
  });

  it("is of no use while its source is disabled", () => assert.equal(find(basic("old-key:")), "source_disabled"));
});

describe("a request without a good write key", () => {
  const CALL = { userId: "u1", event: "E" };

  it("is answered 401, which is final for clients, and says what to do", async () => {
    const answers = {
      "": "no write key: send it as the user name of Basic authorization, or as writeKey in the body",
      [basic("nobody:")]: "no source has this write key; look it up under sources in the config",
      [basic("old-key:")]: "the source old is disabled in the config",
    };
    for (const [authorization, message] of Object.entries(answers)) {
      const { status, json } = await startIngest().ask("/v1/track", CALL, { headers: { authorization } });
      assert.deepEqual([status, json.message], [401, message]);
    }
  });

  it("does not say the key that it tried", async () => {
    const { json } = await startIngest().ask("/v1/track", CALL, { headers: { authorization: basic("hunter2:") } });
    assert.doesNotMatch(JSON.stringify(json), /hunter2/);
  });

  it("is refused whatever its body is, which is not looked at", async () => {
    const ingest = startIngest();
    const { json } = await ingest.ask("/v1/track", "{", { headers: { authorization: basic("nobody:") } });
    assert.equal(json.code, "unknown_write_key");
    assert.deepEqual(ingest.refused, [
      {
        ...{ source: null, type: null, messageId: null },
        fault: { code: "unknown_write_key", message: json.message },
      },
    ]);
    assert.equal(ingest.accepted.length, 0);
  });
});
