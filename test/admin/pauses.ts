import type { Pauses } from "../../src/model/pause.ts";

/** Nothing is paused, or can be. */
export const NEVER_PAUSED: Pauses = {
  since: () => null,
  pause: () => Promise.reject(new Error("nobody should be paused")),
  resume: async () => ({ since: null }),
};
