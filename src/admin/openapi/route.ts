import * as v from "valibot";
import { about } from "../answers/fields.ts";
import { answer, type Route, route } from "../route.ts";
import { describeApi, type OpenApi } from "./document.ts";

export const openApiRoute = route({
  id: "getOpenApi",
  method: "get",
  path: "/openapi.json",
  summary: "This document",
  answers: {
    200: about(
      "The OpenAPI document of this API, for programs that read it.",
      v.looseObject({ openapi: v.string(), paths: v.looseObject({}) }),
    ),
  },
});

/** `GET /openapi.json`: what these routes take and answer. Made when it is asked for first; `routes` may grow until then. */
export function createOpenApi(routes: readonly Route[], world: { readonly version: string }): () => Response {
  let document: OpenApi | null = null;
  return function getOpenApi() {
    document ??= describeApi(routes, world.version);
    return answer(openApiRoute, document);
  };
}
