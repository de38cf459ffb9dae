import http, { type IncomingMessage } from "node:http";
import https from "node:https";
import process from "node:process";
import type { WebhookTls } from "../model/config.ts";
import type { PostRequest, Reply } from "../model/ports.ts";
import type { Way } from "./post-reply.ts";
import { proxyFor, readStart, replyToFailure } from "./post-reply.ts";

const plain = { request: http.request, agent: new http.Agent({ keepAlive: true }) };
const secure = { request: https.request, agent: new https.Agent({ keepAlive: true, rejectUnauthorized: true }) };

const ABORTED = new DOMException("aborted", "AbortError");
const CLOSED = Object.assign(new Error("closed"), { code: "ECONNRESET" });

/**
 * POSTs with `node:https`, for Deno. A request is sent once, even if its kept connection turns out to be closed. It goes
 * through no proxy, unless NODE_USE_ENV_PROXY is 1: Deno then reads HTTP_PROXY, HTTPS_PROXY and NO_PROXY.
 */
export function postWithNode({ url, headers, body, tls, signal }: PostRequest): Promise<Reply> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve({ kind: "aborted" });
    const { request, agent } = /^https:/i.test(url) ? secure : plain;
    const length = Buffer.byteLength(body);
    const options = { method: "POST", agent, headers: { ...headers, "Content-Length": length } };
    const sent = request(url, tls === null ? options : { ...options, ...toOptions(tls) });
    const fail = (error: unknown): void => resolve(replyToFailure(error, signal, wayOf({ url, tls })));
    function abort(): void {
      sent.destroy();
      fail(ABORTED);
    }
    signal.addEventListener("abort", abort);
    // Deno sends again, even after an abort, what it sent on a connection that it believes was used before.
    sent.on("socket", () => {
      sent.reusedSocket = false;
    });
    sent.on("close", () => {
      signal.removeEventListener("abort", abort);
      // Some answers, such as a change to another protocol, end a request without any other event.
      fail(CLOSED);
    });
    // Stays after the answer: a later error would have no listener, and would end the process.
    sent.on("error", fail);
    sent.on("response", (answer) => resolve(replyTo(answer)));
    sent.end(body);
  });
}

/** The agent keeps connections with different options apart: a changed certificate gets new ones. */
function toOptions({ ca, cert, key }: WebhookTls): https.RequestOptions {
  return { ...(ca !== null && { ca }), ...(cert !== null && key !== null && { cert, key: key.reveal() }) };
}

function wayOf({ url, tls }: Pick<PostRequest, "url" | "tls">): Way {
  return { url, tls, proxy: process.env.NODE_USE_ENV_PROXY === "1" ? proxyFor(url) : null };
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
