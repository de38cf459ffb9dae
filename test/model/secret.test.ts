import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { inspect } from "node:util";
import { Secret } from "../../src/model/secret.ts";

describe("a secret", () => {
  const secret = new Secret("hunter2");

  it("is given to whoever asks for it by name", () => assert.equal(secret.reveal(), "hunter2"));

  it("is never printed: not as text, in JSON, in a debugger, nor as one of an object's values", () => {
    const printed = [
      ...[String(secret), `${secret}`, JSON.stringify({ secret }), inspect(secret), inspect({ deep: { secret } })],
      ...[JSON.stringify(Object.entries(secret)), JSON.stringify({ ...secret }), new Error(`a ${secret}`).message],
    ];
    for (const text of printed) assert.doesNotMatch(text, /hunter2/);
    assert.equal(String(secret), "***");
  });
});
