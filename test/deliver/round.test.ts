import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { currentFinals, withConfigEntries } from "../../src/deliver/round.ts";
import { Secret } from "../../src/model/secret.ts";
import { makeDestination, URL_A, URL_B } from "../flow/make.ts";

const OLD = makeDestination({ urls: [URL_A, URL_B], headers: { Authorization: "old" } });
const SAID = [{ url: URL_A, reason: "410" }];

describe("the last word of a webhook", () => {
  it("stands as long as its entry is what it was", () => {
    const finals = withConfigEntries(SAID, OLD);
    assert.match(finals[0]?.entry ?? "", /^[0-9a-f]{8}$/);
    assert.deepEqual(currentFinals(finals, OLD), finals);
    const another = makeDestination({ urls: [URL_A], headers: { Authorization: "old" }, types: ["track"] });
    assert.deepEqual(currentFinals(finals, another), finals);
  });

  it("falls when its headers, its certificates or the secret that signs are others", () => {
    const finals = withConfigEntries(SAID, OLD);
    const [webhook] = OLD.webhooks;
    assert.ok(webhook);
    const tls = { ca: null, cert: "C", key: new Secret("K") };
    const others = [
      makeDestination({ urls: [URL_A], headers: { Authorization: "new" } }),
      { ...OLD, sharedSecrets: [new Secret("s")] },
      { ...OLD, webhooks: [{ ...webhook, tls }] },
    ];
    for (const other of others) assert.deepEqual(currentFinals(finals, other), []);
  });

  it("stands where the config has lost its webhook, and where nobody noted to which entry it was said", () => {
    const finals = withConfigEntries(SAID, OLD);
    const without = makeDestination({ urls: [URL_B] });
    assert.deepEqual(currentFinals(finals, without), finals);
    assert.deepEqual(currentFinals(SAID, OLD), SAID);
  });

  it("keeps the entry that it was said to", () => {
    const finals = withConfigEntries(SAID, OLD);
    const next = makeDestination({ urls: [URL_A], headers: { Authorization: "new" } });
    assert.deepEqual(withConfigEntries(finals, next), finals);
  });
});
