import type { SendWorld } from "../../../src/cli/send/sender.ts";
import type { Target } from "../../../src/cli/send/target.ts";
import type { FetchInit, FetchResponse } from "../../../src/client/platform.ts";
import { Secret } from "../../../src/model/secret.ts";
import { createFalseClock, type FalseClock } from "../../flow/clock.ts";

export const TARGET: Target = { base: "http://127.0.0.1:8080", writeKey: new Secret("key") };

/** A request as it came to the false server. */
export type Came = Pick<FetchInit, "headers" | "body"> & { readonly url: string };

export type Answered = {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
};

/** A false server, or a false fault of the network, and what has come to it. */
export type FalseWorld = SendWorld & { readonly clock: FalseClock; readonly came: readonly Came[] };

export function makeSendWorld(answer: (came: Came) => Answered | Error | Promise<Answered>): FalseWorld {
  const clock = createFalseClock();
  const came: Came[] = [];
  return {
    ...{ clock, came, log: () => {}, random: { fraction: () => 0.5, hex: () => "" } },
    async fetch(url, { headers, body }) {
      const one = { url, headers, body };
      came.push(one);
      const answered = await answer(one);
      if (answered instanceof Error) throw answered;
      return respond(answered);
    },
  };
}

function respond({ status, body, headers = {} }: Answered): FetchResponse {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return { status, statusText: "", headers: new Headers(headers), text: async () => text };
}
