/** All that can happen. A new act gets a file in acts/, a line here, and a weight in plan.ts. */
import type { Act } from "./act.ts";
import { again } from "./acts/again.ts";
import { audience, members, removal } from "./acts/audiences.ts";
import { batch } from "./acts/batch.ts";
import { call } from "./acts/call.ts";
import { calm } from "./acts/calm.ts";
import { reload } from "./acts/config.ts";
import { deletion, lift } from "./acts/deletion.ts";
import { found, vanish } from "./acts/files.ts";
import { pause, resume } from "./acts/pause.ts";
import { heal, receiver } from "./acts/receivers.ts";
import { replay, retry, retryAll } from "./acts/replay.ts";
import { rush } from "./acts/rush.ts";
import { pass, reboot, right, wall } from "./acts/time.ts";
import { crash, disk, space, stop } from "./acts/trouble.ts";
import { discard, move } from "./acts/unserved.ts";

const ALL = {
  ...{ call, batch, rush, again, receiver, heal, pass, wall, right, reboot, reload, pause, resume, move, discard },
  ...{ replay, retry, retryAll, delete: deletion, lift, audience, members, removal, crash, stop, disk, space },
  ...{ vanish, found, calm },
};

export type ActName = keyof typeof ALL;

/** What an act is run with was made by itself, or read from a trace. */
// biome-ignore lint/suspicious/noExplicitAny: each act knows its own.
export const ACTS: Readonly<Record<ActName, Act<any>>> = ALL;
