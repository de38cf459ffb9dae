import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { NAME } from "../../src/config/text-rules.ts";
import { NOTICE_KINDS, NOTIFY_SOURCE, type Notifier, notifyName } from "../../src/model/config.ts";
import { Secret } from "../../src/model/secret.ts";
import { HOUR, MB, MINUTE } from "../../src/model/units.ts";
import { type DaemonOptions, startDaemon, type TestDaemon } from "./daemon.ts";
import { makeConfig, makeDestination, URL_A, URL_B } from "./make.ts";
import type { Behaviour } from "./network.ts";

const OPS = "https://ops.example.com/fairlead";
const CALL = { userId: "u1", event: "Signed Up" };

type Parts = Partial<Omit<Notifier, "destination">> & { readonly url?: string; readonly secret?: string };

export function makeNotifier({ url = OPS, secret, ...parts }: Parts = {}): Notifier {
  const name = parts.name ?? "ops";
  const sharedSecrets = secret === undefined ? [] : [new Secret(secret)];
  return {
    name,
    on: NOTICE_KINDS,
    failingFor: 5 * MINUTE,
    repeat: 4 * HOUR,
    perHour: 12,
    destination: makeDestination({ name: notifyName(name), urls: [url], sharedSecrets }),
    ...parts,
  };
}

type Message = {
  readonly kind: string;
  readonly state: string;
  readonly title: string;
  readonly text: string;
  readonly at: string;
  readonly facts: readonly Record<string, unknown>[];
};

function told(d: TestDaemon, url = OPS): readonly Message[] {
  return d.sent.filter((one) => one.url === url).map(({ body }) => JSON.parse(body));
}

function titles(d: TestDaemon, url = OPS): readonly string[] {
  return told(d, url).map(({ title }) => title);
}

/** Answers by URL; 200 for all others. */
function startTold(answers: Record<string, () => Behaviour> = {}, { config, ...options }: DaemonOptions = {}) {
  return startDaemon({
    answers: ({ url }) => answers[url]?.() ?? 200,
    ...options,
    config: { notify: [makeNotifier()], ...config },
  });
}

describe("a destination that fails", () => {
  it("is told once it has failed for longer than failingFor, and when it works again", async () => {
    let status = 503;
    await using d = await startTold({ [URL_A]: () => status });
    await d.call("/v1/track", CALL);
    await d.clock.advance("5m");
    assert.deepEqual(told(d), []);
    await d.clock.advance("2m");
    const [first, ...more] = told(d);
    assert.deepEqual(more, []);
    assert.equal(first?.title, "crm is failing");
    console.log(first);
    status = 200;
    await d.clock.advance("20m");
    console.log(
      told(d),
      d.told.filter(({ what }) => what === "daemon"),
    );
  });
});
