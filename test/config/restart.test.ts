import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { keysForRestart, withFixedKeys } from "../../src/config/changes.ts";
import { Secret } from "../../src/model/secret.ts";
import { makeConfig, makeIngest } from "../flow/make.ts";

const TLS = { certFile: "/c", keyFile: "/k", cert: "C", key: new Secret("K") };
const LISTEN = { kind: "tcp", host: "127.0.0.1", port: 9999 } as const;

describe("what a running daemon cannot change", () => {
  it("is where it listens, whether by TLS, and its store: named, and kept", () => {
    const old = makeConfig();
    const next = makeConfig({
      ingest: makeIngest({ listen: LISTEN, tls: TLS, corsOrigins: [] }),
      admin: { listen: LISTEN, token: new Secret("t") },
      outbox: { ...old.outbox, path: "/elsewhere.db", maxSize: 7 },
    });
    assert.deepEqual(keysForRestart(old, next), ["ingest.listen", "ingest.tls", "admin.listen", "outbox.path"]);
    assert.deepEqual(withFixedKeys(old, next), {
      ...next,
      ingest: { ...old.ingest, corsOrigins: [] },
      // A new token counts at once, wherever it listens.
      admin: { listen: old.admin.listen, token: next.admin.token },
      outbox: { ...old.outbox, maxSize: 7 },
    });
  });

  it("is not the token of a listener that the world may reach: that is changed, and never lost", () => {
    const token = new Secret("old");
    const old = makeConfig({ admin: { listen: { ...LISTEN, host: "0.0.0.0" }, token } });
    const elsewhere = { listen: LISTEN, token: null };
    assert.equal(withFixedKeys(old, makeConfig({ admin: elsewhere })).admin.token, token);
    const renewed = new Secret("new");
    assert.equal(withFixedKeys(old, makeConfig({ admin: { ...elsewhere, token: renewed } })).admin.token, renewed);
    const loopback = makeConfig({ admin: { listen: LISTEN, token } });
    assert.equal(withFixedKeys(loopback, makeConfig({ admin: elsewhere })).admin.token, null);
  });

  it("is not the certificate, nor the token of a listener that stays", () => {
    const old = makeConfig({ ingest: makeIngest({ tls: TLS }) });
    const renewed = { ...TLS, cert: "C2" };
    const next = makeConfig({ ingest: makeIngest({ tls: renewed }), admin: { ...old.admin, token: new Secret("t") } });
    assert.deepEqual(keysForRestart(old, next), []);
    assert.deepEqual(withFixedKeys(old, next), next);
  });
});
