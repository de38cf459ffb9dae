import type { Judge } from "./requests.ts";

/**
 * Nothing is attempted before its wait is over (the shortest that chance allows), unless a receiver of its destination is back
 * from an outage since it was last attempted; and a receiver that wants silence has it.
 */
export const checkWait: Judge = ({ asked: { track, before, url, at, isNewRound }, world }) => {
  const silentUntil = world.tracks.silentUntil.get(url) ?? 0;
  if (at < silentUntil) return `${url} wanted silence for ${silentUntil - at} ms more`;
  if (!isNewRound || at >= before.freeAt) return null;
  const reopenedAt = world.tracks.reopenedAt.get(track.destination) ?? 0;
  if (reopenedAt > before.endAt) return null;
  return `attempt ${before.rounds + 1} begins ${before.freeAt - at} ms before its wait is over`;
};
