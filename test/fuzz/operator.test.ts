// The operator's API, through the whole daemon: each question is answered as /openapi.json says, or refused with a code.
import assert from "node:assert/strict";
import { FAULT_STATUS, type FaultCode } from "../../src/model/fault.ts";
import { startDaemon, type TestDaemon } from "../flow/daemon.ts";
import { makeDestination, URL_A, URL_B } from "../flow/make.ts";
import { type Fuzzed, fuzz } from "./fuzz.ts";
import { anyInput, type Input } from "./questions.ts";
import { written } from "./text.ts";

fuzz<Input>({ name: "operator", input: anyInput, runs: 400, start });

/** With deliveries in each state, so that there is something to list. */
async function start(): Promise<Fuzzed<Input>> {
  const d = await startDaemon({
    config: {
      destinations: [
        makeDestination(),
        makeDestination({ name: "dead", urls: [URL_B] }),
        makeDestination({ name: "down", urls: ["https://c.example.com/"] }),
      ],
    },
    answers: ({ url }) => (url === URL_A ? 200 : url === URL_B ? 422 : 503),
  });
  for (let n = 1; n <= 5; n += 1) await d.call("/v1/track", { userId: `u${n}`, event: "e", messageId: `m${n}` });
  return { holds: (input) => holds(d, input), stop: () => d.stop() };
}

async function holds(d: TestDaemon, input: Input): Promise<void> {
  const { status, json, text } = await ask(d, input);
  assert.notEqual(status, 500);
  if (status >= 400) assert.equal(FAULT_STATUS[json.code as FaultCode], status, text);
  for (const [name, value] of status === 200 ? input.query : []) {
    if (/^(since|until)$/.test(name) && /^\d{4}-/.test(value)) assert.notEqual(value.slice(5, 10), "02-31");
  }
}

function ask(d: TestDaemon, { method, path, query, body, headers }: Input) {
  const search = new URLSearchParams(query.map(([name, value]) => [name, value] as [string, string]));
  const text = body && written(body.text).toWellFormed();
  return d.admin(method, `${path}${query.length > 0 ? `?${search}` : ""}`, {
    ...(body && text !== null && { text }),
    headers: { ...(body && { "content-type": body.type }), ...Object.fromEntries(headers) },
  });
}
