import * as v from "valibot";
import { about } from "../answers/fields.ts";
import { answer, type Route, route } from "../route.ts";
import { describeApi } from "./document.ts";
import type { Json } from "./shapes.ts";

export const openApiRoute = route({
  id: "getOpenApi",
  method: "get",
  path: "/openapi.json",
  summary: "This document",
  answers: {
    200: about("The OpenAPI document of this API, for programs that read it.", v.record(v.string(), v.unknown())),
  },
});

/** `GET /openapi.json`: what these routes take and answer. Made when it is asked for first; `routes` may grow until then. */
export function createOpenApi(routes: readonly Route[], world: { readonly version: string }): () => Response {
  let document: Json | null = null;
  return function getOpenApi() {
    document ??= describeApi(routes, world.version);
    return answer(openApiRoute, document);
  };
}
