import { type Fault, fault } from "../../model/fault.ts";

/** What the operator is told when a change of theirs could not be made durable. */
export function unwritable(): Fault {
  return fault("store_failed", "the outbox cannot be written, and nothing was changed; see the log for the reason");
}
