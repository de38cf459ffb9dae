import { never } from "../model/never.ts";
import type { Answer } from "../model/outcome.ts";
import { formatDuration } from "../model/units.ts";

/** Says in a few words what a receiver answered, or why it did not: `503`, `no answer within 5s`, `connection refused`. */
export function describeAnswer(answer: Answer): string {
  switch (answer.kind) {
    case "answered":
      return describeStatus(answer.status, answer.location);
    case "timeout":
      return `no answer within ${formatDuration(answer.after)}`;
    case "unreachable":
    case "offline":
      return answer.message;
    case "untrusted":
      return `certificate refused, nothing was sent: ${answer.message}`;
    case "released":
      return "released: the daemon stopped";
    default:
      return never(answer);
  }
}

function describeStatus(status: number, location: string | null): string {
  const redirect = status >= 300 && status < 400;
  if (!redirect) return String(status);
  return location === null ? `${status} without a Location` : `${status}: set url to ${location}`;
}
