import { HOUR, type Ms, SECOND } from "../../../src/model/units.ts";
import { keyOf, type SourceName } from "./shape.ts";
import { type Answer, meet, type World, wrong } from "./world.ts";

/** Sends a request with calls. The answer comes to `answered`; never, if the process dies before. */
export function send(
  world: World,
  { path, source, body }: { readonly path: string; readonly source: SourceName; readonly body: object },
  answered: (answer: Answer) => void,
): void {
  const { life } = world;
  const text = JSON.stringify(body);
  const authorization = `Basic ${Buffer.from(`${keyOf(source)}:`).toString("base64")}`;
  const headers = { authorization, "content-length": String(Buffer.byteLength(text)) };
  const request = new Request(`http://127.0.0.1:8080${path}`, { method: "POST", body: text, headers });
  const vanished = world.vanished !== null;
  void life.ask(8080, request).then((answer) => {
    if (vanished && Number(answer.json.accepted) > 0) wrong(world, `the outbox is gone, and calls were acknowledged`);
    answered(known(world, answer));
  });
}

/** Asks the operator's API. */
export function command(
  world: World,
  { method = "POST", path, body }: { readonly method?: string; readonly path: string; readonly body?: unknown },
  answered: (answer: Answer) => void,
): void {
  const { life } = world;
  const text = body === undefined ? undefined : JSON.stringify(body);
  const headers: Record<string, string> = { host: "127.0.0.1:8081" };
  if (method !== "GET") headers["content-type"] = "application/json";
  if (text !== undefined) headers["content-length"] = String(Buffer.byteLength(text));
  const init = text === undefined ? { method, headers } : { method, headers, body: text };
  void life
    .ask(8081, new Request(`http://127.0.0.1:8081${path}`, init))
    .then((answer) => answered(known(world, answer)));
}

/** To those who ask, an outbox that is gone is one that cannot be written. */
function known(world: World, { status, json }: Answer): Answer {
  if (json.code !== "outbox_gone") return { status, json };
  meet(world, "refused: outbox_gone");
  if (world.refused === 0) wrong(world, `the outbox is where it should be, and the answer was ${json.code}`);
  return { status, json: { ...json, code: "store_failed" } };
}

/** Lets time go by, as far as the process lives. */
export async function advance({ life: { clock } }: World, ms: Ms): Promise<void> {
  await clock.advance(`${ms}ms`);
}

/** Waits for a promise, and lets time go by for it: a second at a time. Answers whether it came to an end, or the process died. */
export async function advanceUntil(world: World, promise: Promise<unknown>): Promise<boolean> {
  const { life } = world;
  let over = false;
  void promise.finally(() => {
    over = true;
  });
  await life.clock.rest();
  for (let waited = 0; waited < HOUR && !over && !life.dead; waited += SECOND) await advance(world, SECOND);
  return over || life.dead;
}
