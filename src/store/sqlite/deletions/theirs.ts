import type { TheirEvents } from "../../../model/deletion.ts";
import type { About } from "../letters.ts";

/**
 * The user of these whom an event is about, or null. An alias is about two: the one it goes away from stands in its body
 * only.
 */
export function theirsIn(
  about: About,
  body: () => string,
  { users, sources }: Omit<TheirEvents, "upTo">,
): string | null {
  const [source, type, , userId] = about;
  if (sources !== null && !sources.includes(source)) return null;
  if (userId !== null && users.has(userId)) return userId;
  if (type !== "alias") return null;
  const previous = previousIn(body());
  return previous !== null && users.has(previous) ? previous : null;
}

export function previousIn(body: string): string | null {
  const previous: unknown = JSON.parse(body)["Previous ID"];
  return typeof previous === "string" ? previous : null;
}
