import { keyOf, type SourceName } from "./shape.ts";
import type { Answer, World } from "./world.ts";

/** Sends a request with calls. The answer comes to `answered`; never, if the process dies before. */
export function send(
  { life }: World,
  { path, source, body }: { readonly path: string; readonly source: SourceName; readonly body: object },
  answered: (answer: Answer) => void,
): void {
  const text = JSON.stringify(body);
  const authorization = `Basic ${Buffer.from(`${keyOf(source)}:`).toString("base64")}`;
  const headers = { authorization, "content-length": String(Buffer.byteLength(text)) };
  const request = new Request(`http://127.0.0.1:8080${path}`, { method: "POST", body: text, headers });
  void life.ask(8080, request).then(answered);
}

/** Asks the operator's API. */
export function command(
  { life }: World,
  { method = "POST", path, body }: { readonly method?: string; readonly path: string; readonly body?: unknown },
  answered: (answer: Answer) => void,
): void {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const headers: Record<string, string> = { host: "127.0.0.1:8081" };
  if (method !== "GET") headers["content-type"] = "application/json";
  if (text !== undefined) headers["content-length"] = String(Buffer.byteLength(text));
  const init = text === undefined ? { method, headers } : { method, headers, body: text };
  void life.ask(8081, new Request(`http://127.0.0.1:8081${path}`, init)).then(answered);
}
