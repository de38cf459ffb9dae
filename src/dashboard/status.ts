import { createContext, useContext } from "hono/jsx/dom";
import type { DaemonStatus } from "../wire/status.ts";
import type { Polled } from "./api.ts";

export type Status = DaemonStatus;

/** The daemon's status, which is asked for once for the whole page. */
export const StatusContext = createContext<Polled<Status>>({ data: null, error: null, refresh() {} });

export function useStatus(): Polled<Status> {
  return useContext(StatusContext);
}

/** Why this reader cannot act; null if nothing keeps him from it. */
export function useHindrance(): string | null {
  return useStatus().data?.access === "read" ? "your token (admin.readToken) is read-only" : null;
}
