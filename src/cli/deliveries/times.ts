import { isCalendarDay } from "../../model/calendar.ts";
import { parseDuration } from "../../model/units.ts";

const FORM = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)?)?$/;

/**
 * A point in time as the daemon takes it: how long ago, as `2h`, stays so; a date or time without a zone is of this
 * machine's. Null if it is neither.
 */
export function toQueryTime(text: string): string | null {
  if (parseDuration(text) !== null) return text;
  if (!FORM.test(text) || !isCalendarDay(text)) return null;
  // A date alone would be taken for one of UTC.
  const at = Date.parse(text.includes("T") ? text : `${text}T00:00`);
  const time = Number.isNaN(at) ? "" : new Date(at).toISOString();
  // A zone may lead out of the years that have four digits: other years begin with a sign.
  return /^\d/.test(time) ? time : null;
}
