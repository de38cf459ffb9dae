import { type Fault, fault } from "../../model/fault.ts";
import { OutboxGone } from "../presence.ts";

/** What the operator is told when a change of theirs could not be made durable. */
export function unwritable(error: unknown): Fault {
  if (error instanceof OutboxGone) return error.fault;
  return fault("store_failed", "the outbox cannot be written, and nothing was changed; see the log for the reason");
}
