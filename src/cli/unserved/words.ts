import type { Complaint } from "../complain.ts";
import { EXIT } from "../exit.ts";
import { printable } from "../printable.ts";
import type { Ended } from "./pages.ts";

/** `1,234`. */
export function format(count: number): string {
  return count.toLocaleString("en");
}

/** `7 deliveries`. */
export function deliveries(count: number): string {
  return count === 1 ? "1 delivery" : `${format(count)} deliveries`;
}

/** `7 deliveries wait for old`. */
export function aboutOf(waiting: number, from: string): string {
  const name = printable(from);
  if (waiting === 0) return `No delivery waits for ${name}`;
  return `${deliveries(waiting)} ${waiting === 1 ? "waits" : "wait"} for ${name}`;
}

/** `500 of 1,234`. More may wait by now than were counted. */
export function progressOf(done: number, waiting: number): string {
  return `${format(done)} of ${format(Math.max(done, waiting))}`;
}

type Progress = { readonly done: number; readonly waiting: number };

/** Why not all was done, and how far it came. */
export function complaintOf(ended: Exclude<Ended, "done">, { done, waiting }: Progress): Complaint {
  const progress = progressOf(done, waiting);
  if (ended === "interrupted") {
    return {
      code: EXIT.failed,
      message: `interrupted: ${progress} are done, the others go on waiting`,
      error: "interrupted",
    };
  }
  return done === 0 ? ended : { ...ended, message: `${ended.message}; ${progress} were done before` };
}
