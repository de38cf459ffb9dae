import type { Route } from "../route.ts";
import { describeOperation } from "./operation.ts";
import { createShapes, type Json } from "./shapes.ts";

/** The OpenAPI 3.1 document of these routes. */
export function describeApi(routes: readonly Route[], version: string): Json {
  const shapes = createShapes();
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    const path = templateOf(route.path);
    paths[path] = { ...paths[path], [route.method]: describeOperation(route, shapes) };
  }
  return {
    openapi: "3.1.1",
    info: {
      title: "Fairlead's operator's API",
      version,
      description: ABOUT,
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/", description: "admin.listen" }],
    // Either of them: whether a token is needed, the config says.
    security: [{ token: [] }, {}],
    paths,
    components: { schemas: shapes.named, securitySchemes: { token: TOKEN } },
  };
}

const ABOUT = `What operators and their programs ask a running daemon, at \`admin.listen\` of its config.

A request with an Origin header, or with a Host that is not the listener's, is refused: the API is not open to web pages. Whatever is not a GET has to say that it is JSON. A Retry-After says when to try again. New keys may be added to answers; codes of refusals are stable.`;

const TOKEN = {
  type: "http",
  scheme: "bearer",
  description:
    "`admin.token` of the config, where there is one: it has to be there unless the API listens on loopback or a Unix socket. " +
    "`/healthz` and `/readyz` never need it.",
};

/** Hono writes `:name` where OpenAPI writes `{name}`. */
export function templateOf(path: string): string {
  return path.replace(/:(\w+)/g, "{$1}");
}
