import type { Contents } from "../../model/contents.ts";
import { formatDuration, formatTime } from "../../model/units.ts";

/** What is in a store, in lines. `now`: by the wall clock. */
export function contentsWords(contents: Contents, now: number): string {
  const { events, newestAt, deliveries, computations, suppressed } = contents;
  const newest = newestAt === null ? "" : `, the newest of ${formatTime(newestAt)} (${ageOf(newestAt, now)})`;
  const states = Object.entries(deliveries).map(([state, count]) => `${count} ${state}`);
  return [
    `  events      ${events}${newest}`,
    `  deliveries  ${states.join(", ")}`,
    ...(computations > 0 ? [`  audiences and traits  ${computations}`] : []),
    ...(suppressed > 0 ? [`  suppressed users  ${suppressed}`] : []),
    `  schema      ${contents.schema}`,
  ].join("\n");
}

function ageOf(at: number, now: number): string {
  return at > now ? "ahead of this machine's clock" : `${formatDuration(now - at)} ago`;
}

/** The same for programs. */
export function contentsJson({ newestAt, ...contents }: Contents): object {
  return { ...contents, newestAt: newestAt === null ? null : formatTime(newestAt) };
}
