import type { Post } from "../model/ports.ts";
import { postWithFetch } from "./post-bun.ts";

/**
 * HTTP POSTs from this machine (SPEC.md 4.1). Each runtime has its own client: Bun's `fetch` is the fast one, but Deno's
 * ignores TLS settings, hides why it failed, and sends a POST again by itself.
 */
export function createPost(): Post {
  return typeof Bun === "undefined" ? postWithNode : postWithFetch;
}

async function postWithNode(...args: Parameters<Post>): ReturnType<Post> {
  // Imported late: under Bun, where nobody needs it, node:https costs 10 MB and 14 ms at the start.
  const { postWithNode } = await import("./post-deno.ts");
  return postWithNode(...args);
}
