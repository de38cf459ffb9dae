import http, { type IncomingMessage } from "node:http";
import https from "node:https";
import type { PostRequest, Reply } from "../model/ports.ts";
import { readStart } from "./answer-start.ts";
import { replyToError } from "./post-error.ts";

const plain = { request: http.request, agent: new http.Agent({ keepAlive: true }) };
const secure = { request: https.request, agent: new https.Agent({ keepAlive: true, rejectUnauthorized: true }) };

const CLOSED = Object.assign(new Error("closed"), { code: "ECONNRESET" });

/** POSTs with `node:https`, for Deno. A request is sent once, even if its kept connection turns out to be closed. */
export function postWithNode({ url, headers, body, signal }: PostRequest): Promise<Reply> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve({ kind: "aborted" });
    const { request, agent } = url.startsWith("https:") ? secure : plain;
    const length = Buffer.byteLength(body);
    const sent = request(url, { method: "POST", agent, headers: { ...headers, "Content-Length": length } });
    function abort(): void {
      sent.destroy();
      resolve({ kind: "aborted" });
    }
    signal.addEventListener("abort", abort);
    // Deno sends again, even after an abort, what it sent on a connection that it believes was used before.
    sent.on("socket", () => {
      sent.reusedSocket = false;
    });
    sent.on("close", () => {
      signal.removeEventListener("abort", abort);
      // Some answers, such as a change to another protocol, end a request without any other event.
      resolve(replyToError(CLOSED, signal));
    });
    // Stays for the time after the answer: an error then has no other listener, and ends the process.
    sent.on("error", (error) => resolve(replyToError(error, signal)));
    sent.on("response", (answer) => resolve(replyTo(answer)));
    sent.end(body);
  });
}

function replyTo(answer: IncomingMessage): Reply {
  return {
    kind: "answered",
    status: answer.statusCode ?? 0,
    retryAfter: answer.headers["retry-after"] ?? null,
    location: answer.headers.location ?? null,
    body: readStart(answer, answer.headers["content-length"] ?? null),
  };
}
