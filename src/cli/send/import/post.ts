import { MINUTE } from "../../../model/units.ts";
import { request } from "../../../runtime/request.ts";
import { authorize, type Target } from "../target.ts";
import type { SendBatch } from "./deliver.ts";
import { readVerdict } from "./verdict.ts";

/** Sends calls in one request, as they stand in their lines. */
export function createPost({ base, writeKey }: Target): SendBatch {
  const headers = { Authorization: authorize(writeKey), "Content-Type": "application/json" };
  return async (calls) => {
    const body = `{"batch":[${calls.map(({ text }) => text).join(",")}]}`;
    return readVerdict(await request({ base, method: "POST", path: "/v1/batch", headers, body, timeout: MINUTE }));
  };
}
