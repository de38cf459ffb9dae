import type { Complaint } from "../complain.ts";
import { EXIT } from "../exit.ts";
import { printable } from "../printable.ts";
import type { Plan } from "../unserved/confirm.ts";
import { deliveries, progressOf } from "../unserved/words.ts";
import type { Ended, Total } from "./pages.ts";
import type { SaidRetry } from "./said.ts";

/** What would be sent again: how many for each destination, and the oldest and the newest of them. */
export function toPlan({ replayed, destinations, left, oldest, newest }: Total): string {
  const lines = [
    replayed === 0 ? "There is nothing to be sent again" : `${deliveries(replayed)} would be sent again`,
    ...Object.entries(destinations).map(([name, count]) => `  ${printable(name)}: ${deliveries(count)}`),
    ...(oldest === null || newest === null ? [] : [`  of events that were taken from ${oldest} to ${newest}`]),
    ...leftOver(left),
  ];
  return lines.join("\n");
}

/** What a person is asked before it is done. */
export function toQuestion({ replayed, destinations, oldest, newest }: Total): Plan {
  const [name, ...others] = Object.keys(destinations);
  const whose = others.length === 0 ? printable(name ?? "") : `${others.length + 1} destinations`;
  const about = `${deliveries(replayed)} to ${whose}, of events that were taken from ${oldest} to ${newest}`;
  return { about, question: replayed === 1 ? "Send it again?" : "Send them again?" };
}

export function toResult({ replayed, left }: Total): string {
  return [`${deliveries(replayed)} ${replayed === 1 ? "is" : "are"} sent again.`, ...leftOver(left)].join("\n");
}

function leftOver(left: number): readonly string[] {
  if (left === 0) return [];
  const so = left === 1 ? "stays as it is: its destination is" : "stay as they are: their destinations are";
  return [
    `  ${deliveries(left)} ${so} not in the config any more, or a newer call has superseded ${left === 1 ? "it" : "them"}`,
  ];
}

/** What became of one that was named by its id. */
export function toSentence({ id, did }: SaidRetry): string {
  return printable(`${id} ${DID[did]}`);
}

const DID: Readonly<Record<SaidRetry["did"], string>> = {
  replayed: "is sent again, with all of its time.",
  hurried: "waits still: its next attempt is due now.",
  due: "waits still, and is due already.",
};

/** Why not all was done, and how far it came. */
export function complaintOf(ended: Exclude<Ended, "done">, done: number, wanted: number): Complaint {
  const progress = progressOf(done, wanted);
  if (ended === "interrupted") {
    return { code: EXIT.failed, message: `interrupted: ${progress} are sent again, the others stay as they were` };
  }
  return done === 0 ? ended : { ...ended, message: `${ended.message}; ${progress} were sent again before` };
}
