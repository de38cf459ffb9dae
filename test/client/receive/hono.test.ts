import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Hono } from "hono";
import { HTTPException } from "hono/http-exception";
import { webhook } from "../../../src/client/receive/hono.ts";
import { BODY, initOf, SECRET, streamed } from "./make.ts";

describe("webhook, for Hono", () => {
  it("gives typed, verified calls, and the context of the app's own type", async () => {
    const app = new Hono<{ Variables: { team: string } }>();
    app.use(async (c, next) => {
      c.set("team", "growth");
      await next();
    });
    app.post(
      "/hooks",
      webhook<{ Variables: { team: string } }>(SECRET, (call, c) => {
        if (call.type !== "track") return c.text("other");
        const team: string = c.get("team");
        return c.json({ event: call.event, team });
      }),
    );
    const answer = await app.request("/hooks", initOf());
    assert.deepEqual(await answer.json(), { event: "Signed Up", team: "growth" });
  });

  it("answers 204 if the handler returns nothing", async () => {
    const calls: string[] = [];
    const app = new Hono();
    app.post(
      "/hooks",
      webhook(SECRET, (call, c) => {
        calls.push(`${call.type} at ${c.req.path}`);
      }),
    );
    assert.equal((await app.request("/hooks", initOf())).status, 204);
    assert.equal((await app.request("/hooks", streamed(BODY))).status, 204);
    assert.deepEqual(calls, ["track at /hooks", "track at /hooks"]);
  });

  it("answers 401, 413 and 400 by itself", async () => {
    const app = new Hono().post(
      "/hooks",
      webhook(SECRET, () => assert.fail(), { maxBytes: 100 }),
    );
    for (const [init, status] of [
      [initOf({ signature: null }), 401],
      [initOf({ signature: "0".repeat(40), body: "{}" }), 401],
      [initOf({ body: JSON.stringify("x".repeat(99)) }), 413],
      [streamed(BODY), 413],
      [initOf({ body: "[]" }), 400],
    ] as const) {
      assert.equal((await app.request("/hooks", init)).status, status);
    }
  });

  it("leaves what the handler throws to the app", async () => {
    const outcomes = [new Error("away"), new HTTPException(422, { message: "never" })];
    const heard: unknown[] = [];
    const app = new Hono();
    app.post(
      "/hooks",
      webhook(SECRET, () => Promise.reject(outcomes.shift())),
    );
    app.onError((error, c) => {
      heard.push(error.message);
      return error instanceof HTTPException ? error.getResponse() : c.text("", 500);
    });
    assert.equal((await app.request("/hooks", initOf())).status, 500);
    assert.equal((await app.request("/hooks", initOf())).status, 422);
    assert.deepEqual(heard, ["away", "never"]);
  });

  it("takes a body that a middleware has read before", async () => {
    for (const read of ["text", "arrayBuffer"] as const) {
      const app = new Hono();
      app.use(async (c, next) => {
        await c.req[read]();
        await next();
      });
      app.post(
        "/hooks",
        webhook(SECRET, (call, c) => c.text(call.type)),
      );
      assert.equal(await (await app.request("/hooks", initOf())).text(), "track");
    }
  });
});
