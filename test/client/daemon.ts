import type { Fetch, FetchInit } from "../../src/client/platform.ts";
import type { TestDaemon } from "../flow/daemon.ts";

/** What stands between a client and its daemon: asked before each request, from 1, whether it gets through. */
export type Way = (nth: number) => "open" | "down" | "answer lost";

/** The way of a client to a daemon in this process. */
export function fetchFrom(daemon: () => TestDaemon, way: Way = () => "open"): Fetch {
  let nth = 0;
  return async (url, { headers, body }: FetchInit) => {
    nth += 1;
    const state = way(nth);
    if (state === "down") throw new Error("connection refused");
    const length = { "Content-Length": String(Buffer.byteLength(body)) };
    const answer = await daemon().send(new URL(url).pathname, {
      method: "POST",
      headers: { ...headers, ...length },
      body,
    });
    if (state === "answer lost") throw new Error("connection reset");
    const { status, json } = answer;
    return { status, statusText: "", headers: answer.headers, text: async () => JSON.stringify(json) };
  };
}
