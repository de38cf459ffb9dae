import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { startReceiver } from "../binary/receiver.ts";
import { PATIENT } from "../binary/waiting.ts";
import { KEY } from "../binary/world.ts";
import { CLIENT, PROXIES, type Proxied, startProxied } from "./proxy-world.ts";
import { until } from "./systemd-world.ts";

const MOST = 512_000;
const GZIP = { "Content-Encoding": "gzip" };

/** A batch of calls that is as long as a body may be, or longer. */
function makeBatch(bytes: number): string {
  const batch = Array.from({ length: 20 }, (_, at) => {
    return { type: "track", userId: "u", event: "E", messageId: `m-${at}`, properties: { text: "x".repeat(20_000) } };
  });
  const short = JSON.stringify({ batch, padding: "" });
  return JSON.stringify({ batch, padding: "x".repeat(bytes - short.length) });
}

function track(messageId: string): string {
  return JSON.stringify({ userId: "u", event: "E", messageId });
}

function codeOf({ text }: { readonly text: string }): string | undefined {
  return (JSON.parse(text) as { code?: string }).code;
}

for (const proxy of PROXIES) {
  const NEEDING = { ...PATIENT, skip: proxy.missing };
  for (const kind of ["tcp", "socket"] as const) {
    describe(`${proxy.name}, as packaging/${proxy.name} has it, in front of a ${kind === "tcp" ? "port" : "Unix socket"}`, () => {
      it("says who the client is, whatever that says itself, and leaves CORS to Fairlead", NEEDING, async () => {
        await using receiver = startReceiver();
        await using p = await startProxied(proxy, kind, receiver.url);
        const headers = { "X-Forwarded-For": "203.0.113.7", Origin: "https://shop.example.com" };
        const answer = await p.send("/v1/track", { body: track("m-1"), headers });
        assert.equal(answer.status, 200, answer.text);
        assert.equal(answer.headers.get("access-control-allow-origin"), "https://shop.example.com");
        const [hook] = await receiver.count(1);
        assert.equal(JSON.parse(hook?.body ?? "").context.ip, CLIENT);
        const settings = await p.send(`/v1/projects/${KEY}/settings`);
        const { "Segment.io": api } = JSON.parse(settings.text).integrations;
        assert.deepEqual([api.apiHost.replace(/:\d+/, ""), api.protocol], ["localhost/v1", "https"]);
      });

      it("lets a batch of 500 KB through, and one that is compressed", NEEDING, async () => {
        await using receiver = startReceiver();
        await using p = await startProxied(proxy, kind, receiver.url);
        const whole = await p.send("/v1/batch", { body: makeBatch(MOST) });
        assert.deepEqual(JSON.parse(whole.text), { success: true, accepted: 20, duplicate: 0 });
        const again = await p.send("/v1/batch", { body: gzipSync(makeBatch(MOST)), headers: GZIP });
        assert.deepEqual(JSON.parse(again.text), { success: true, accepted: 0, duplicate: 20 });
        await receiver.all(Array.from({ length: 20 }, (_, at) => `m-${at}`));
      });

      it("lets clients know of a body that is too large, with the code of Fairlead", NEEDING, async () => {
        await using receiver = startReceiver();
        await using p = await startProxied(proxy, kind, receiver.url);
        const tooLarge = [
          [{ body: makeBatch(MOST + 1) }, [400]],
          [{ body: gzipSync(makeBatch(MOST + 1)), headers: GZIP }, [400]],
          [{ body: makeBatch(4_000_000) }, [400, 413]],
        ] as const;
        for (const [init, statuses] of tooLarge) {
          const answer = await p.send("/v1/batch", init);
          assert.ok(
            statuses.some((one) => one === answer.status),
            `${answer.status}: ${answer.text}`,
          );
          assert.equal(codeOf(answer), "body_too_large");
          assert.match(answer.headers.get("content-type") ?? "", /^application\/json/);
        }
      });

      it("uses its connections to Fairlead again, and keeps write keys out of its log", NEEDING, async () => {
        await using receiver = startReceiver();
        await using p = await startProxied(proxy, kind, receiver.url);
        for (let at = 0; at < 10; at++) await p.send("/v1/track", { body: track(`m-${at}`) });
        if (kind === "tcp") assert.equal(p.connections(), 1);
        await sendKeys(p);
        const log = (): string => readFileSync(p.path("fairlead.access.log"), "utf8");
        await until(() => log().includes("/v1/pixel/page"));
        assert.match(log(), /\/v1\/track/);
        assert.equal(log().includes(KEY), false, log());
        assert.equal(log().includes(btoa(`${KEY}:`)), false, log());
      });

      it("answers that Fairlead is away, which clients repeat", NEEDING, async () => {
        await using receiver = startReceiver();
        await using p = await startProxied(proxy, kind, receiver.url);
        assert.equal((await p.send("/v1/track", { body: track("m-1") })).status, 200);
        p.daemon.process.kill("SIGTERM");
        await p.daemon.process.exit;
        assert.equal((await p.send("/v1/track", { body: track("m-2") })).status, 502);
      });
    });
  }
}

/** In every place that can have one. The last one is what the test waits for in the log. */
async function sendKeys(p: Proxied): Promise<void> {
  const referrer = { Referer: `https://shop.example.com/?writeKey=${KEY}` };
  await p.send(`/v1/projects/${KEY}/settings`, { headers: referrer });
  await p.send("/v1/track", { body: track("m-10"), headers: { "X-Write-Key": KEY } });
  await p.send(`/v1/track?writeKey=${KEY}`, { body: track("m-11") });
  await p.send(`/v1/pixel/page?writeKey=${KEY}&userId=u`);
}
