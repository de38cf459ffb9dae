import { stoodStillAtMost } from "../world/clocks.ts";
import type { Judge } from "./requests.ts";

/** One round at a time; nobody is asked again after a success, nor who has refused for good, nor more than once after the cutoff. */
export const checkOnce: Judge = (judged) => {
  const { asked, world } = judged;
  const { track, before, at, isNewRound } = asked;
  if (isNewRound && before.open > 0) return "it is asked again while an attempt of it runs";
  if (before.succeededAt !== null) return `a receiver had it ${at - before.succeededAt} ms ago, and it is sent again`;
  const refusal = checkFinals(judged);
  if (refusal) return refusal;
  const { cutoff } = world.shape;
  const { firstAt } = before;
  if (!isNewRound || firstAt === null) return null;
  if (at < firstAt + cutoff + stoodStillAtMost(world, track.destination, { from: firstAt, until: at })) return null;
  if (before.late > 0) return `a second attempt begins ${at - firstAt - cutoff} ms after the cutoff`;
  track.late += 1;
  return null;
};

const checkFinals: Judge = ({ asked: { track, url }, world }) => {
  const shape = world.shape.destinations[track.destination as keyof typeof world.shape.destinations];
  const version = world.tracks.versionOf(track.destination);
  if (track.finals.get(url) !== version || world.nextShape) return null;
  const standing = [...track.finals.values()].filter((one) => one === version);
  return standing.length < shape.webhooks.length ? `${url} has refused it for good, and is asked again` : null;
};
