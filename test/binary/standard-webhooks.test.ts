import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Webhook } from "standardwebhooks";
import { startReceiver } from "./receiver.ts";
import { PATIENT } from "./waiting.ts";
import { makeConfig, makeWorld, SECRET } from "./world.ts";

const NEW = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX";

describe("a destination with standardWebhooks", () => {
  it(
    "sends what the standard's library takes, from receivers with the old secret and with the new one",
    PATIENT,
    async () => {
      await using receiver = startReceiver();
      await using w = await makeWorld();
      const config = JSON.parse(makeConfig({ url: receiver.url }));
      Object.assign(config.destinations.crm, { standardWebhooks: true, sharedSecret: [SECRET, NEW] });
      await w.write("config.yaml", JSON.stringify(config));
      const daemon = await w.serve();
      await daemon.call("/v1/track", { userId: "u1", event: "Zoë 🙂", messageId: "m.1 ü" });
      await fetch(`${daemon.admin}/api/deletions`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ userIds: ["u1"] }),
      });
      const hooks = await receiver.count(2);
      for (const { headers, body } of hooks) {
        const all = Object.fromEntries(headers);
        assert.deepEqual(new Webhook(Buffer.from(SECRET), { format: "raw" }).verify(body, all), JSON.parse(body));
        assert.deepEqual(new Webhook(NEW).verify(body, all), JSON.parse(body));
      }
      const ids = hooks.map(({ headers }) => headers.get("webhook-id") ?? "").toSorted();
      assert.match(ids[0] ?? "", /^delete-[\da-f-]+$/);
      assert.equal(ids[1], "m%2E1%20%C3%BC");
      assert.equal(receiver.forged, 0);
    },
  );
});
