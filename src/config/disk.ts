import type { Config } from "../model/config.ts";
import { type Disk, describeAlias, type SpaceFor } from "../model/space.ts";
import { formatSize } from "../model/units.ts";
import type { Finding } from "./problems.ts";
import { child, type Tree } from "./tree.ts";

/** Warns of a disk that is full before the outbox is: `maxSize` would promise what the disk cannot hold. */
export function warnOfSmallDisk(root: Tree, { outbox }: Config, spaceFor: SpaceFor): readonly Finding[] {
  const { path, maxSize, freeDisk } = outbox;
  const space = spaceFor(path);
  if (space === null) return [];
  const { free, total, used } = space;
  const wanted = `${formatSize(maxSize)}${freeDisk > 0 ? ` and outbox.freeDisk (${formatSize(freeDisk)})` : ""}`;
  const lacks = (room: string) =>
    `is more than the disk has room for: ${wanted} do not fit ${room}; calls are refused before`;
  const wants = maxSize + freeDisk;
  if (total < wants) return warning(root, lacks(`on the ${formatSize(total)} of the disk of ${path}`));
  if (free + used < wants) {
    const taken = used > 0 ? `, with the ${formatSize(used)} that the outbox has` : "";
    return warning(root, lacks(`into the ${formatSize(free)} that are free on the disk of ${path}${taken}`));
  }
  return [];
}

function warning(root: Tree, message: string): readonly Finding[] {
  const outbox = child(root, "outbox");
  const at = child(outbox, "maxSize")?.at ?? outbox?.keyAt ?? 0;
  return [{ severity: "warning", path: "outbox.maxSize", message, at }];
}

/** The daemon would not start: it is better known before. */
export function refuseAlias(root: Tree, { outbox }: Config, aliasOf: Disk["alias"]): readonly Finding[] {
  const alias = aliasOf(outbox.path);
  if (alias === null) return [];
  const at = child(child(root, "outbox"), "path")?.at ?? child(root, "outbox")?.keyAt ?? 0;
  const { why, remedy } = describeAlias(alias);
  return [{ severity: "error", path: "outbox.path", message: `cannot be ${outbox.path}: ${why}; ${remedy}`, at }];
}
