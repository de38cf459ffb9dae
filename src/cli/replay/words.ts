import type { Complaint } from "../complain.ts";
import { EXIT } from "../exit.ts";
import { printable } from "../printable.ts";
import type { Plan } from "../unserved/confirm.ts";
import { deliveries, format, progressOf } from "../unserved/words.ts";
import type { Ended, Total } from "./pages.ts";
import type { SaidRetry } from "./said.ts";

/** What would be sent again: how many for each destination, and the oldest and the newest of them. */
export function toPlan({ replayed, destinations, oldest, newest, ...others }: Total): string {
  const lines = [
    replayed === 0 ? "There is nothing to be sent again" : `${deliveries(replayed)} would be sent again`,
    ...Object.entries(destinations).map(([name, count]) => `  ${printable(name)}: ${deliveries(count)}`),
    ...(oldest === null || newest === null ? [] : [`  of events that were taken from ${oldest} to ${newest}`]),
    ...leftOver(others),
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

export function toResult({ replayed, ...others }: Total): string {
  return [`${deliveries(replayed)} ${replayed === 1 ? "is" : "are"} sent again.`, ...leftOver(others)].join("\n");
}

function leftOver({
  left,
  deleted = 0,
  superseded = 0,
}: Pick<Total, "left" | "deleted" | "superseded">): readonly string[] {
  const stays = (count: number): string => (count === 1 ? "stays as it is" : "stay as they are");
  const whose = deleted === 1 ? "stays as it is: its user was" : "stay as they are: their users were";
  return [
    ...(left === 0
      ? []
      : [`  ${deliveries(left)} ${stays(left)}: given up by command, or for what is not in the config any more`]),
    ...(deleted === 0 ? [] : [`  ${deliveries(deleted)} ${whose} deleted`]),
    ...(superseded === 0
      ? []
      : [`  ${deliveries(superseded)} ${stays(superseded)}: a newer call about the user has taken the place`]),
  ];
}

/** Why fewer were sent again than were counted. */
export function goneMeanwhile(gone: number, wanted: number): string {
  const removed = "they were removed, for their age or to make room, or sent again by somebody else";
  return `${deliveries(gone)} of the ${format(wanted)} that were counted were not there any more: ${removed}`;
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
    return {
      code: EXIT.failed,
      message: `interrupted: ${progress} are sent again, the others stay as they were`,
      error: "interrupted",
    };
  }
  return done === 0 ? ended : { ...ended, message: `${ended.message}; ${progress} were sent again before` };
}
