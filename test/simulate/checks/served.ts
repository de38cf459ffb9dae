import { ownerOf, type Shape, urlOf } from "../world/shape.ts";
import type { Judge } from "./requests.ts";

/** Only webhooks of the config are asked, and none of a destination that is disabled or paused. */
export const checkServed: Judge = ({ request: { url }, asked: { track }, world }) => {
  const shapes = [world.shape, ...(world.nextShape ? [world.nextShape] : [])];
  if (!shapes.some((shape) => serves(shape, url))) return `${url} is not in the config, or disabled`;
  if (world.paused.has(track.destination)) return "the destination is paused";
  return null;
};

function serves({ destinations }: Shape, url: string): boolean {
  const name = ownerOf(url);
  const { listed, enabled, webhooks } = destinations[name];
  return listed && enabled && webhooks.some((webhook) => urlOf(name, webhook) === url);
}
