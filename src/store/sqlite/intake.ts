import { type Fault, isFault } from "../../model/fault.ts";
import type { Clock, Entry, Receipt, Store } from "../../model/ports.ts";
import { OutboxGone } from "../presence.ts";
import { type Room, UNWRITTEN } from "../room.ts";
import type { AppendRows } from "./append.ts";
import type { Commits } from "./commits.ts";
import { unwritable } from "./unwritable.ts";
import type { Withdrawn, WithdrawRows } from "./withdraw.ts";

export type IntakeWorld = {
  readonly clock: Pick<Clock, "now">;
  readonly commits: Commits;
  readonly room: Pick<Room, "refusal">;
  readonly appendRows: AppendRows;
  readonly withdrawal: WithdrawRows;
  /** Called after a commit that has ended the waiting of these. */
  readonly withdrawn: (deliveries: readonly Withdrawn[]) => void;
};

/** What comes in, and what must not go out any more because of it. */
export function createIntake(world: IntakeWorld): Pick<Store, "append" | "withdraw"> {
  const { clock, commits, room, appendRows, withdrawal } = world;
  return {
    append(entries) {
      if (entries.length === 0) return Promise.resolve([]);
      const refusal = room.refusal();
      if (refusal) return Promise.resolve(refusal);
      const withdrawn: Withdrawn[] = [];
      const run = (): readonly Receipt[] => appendRows(entries, { now: clock.now(), withdrawn: emptied(withdrawn) });
      const job = {
        rows: rowsOf(entries),
        run,
        failed: (error: unknown) => (error instanceof OutboxGone ? error.fault : UNWRITTEN),
      };
      const written = commits.add<readonly Receipt[] | Fault>(job);
      return entries.some(({ withdraws, change }) => withdraws ?? change) ? tellThen(written, withdrawn) : written;
    },
    async withdraw(wish) {
      const run = (): readonly Withdrawn[] => withdrawal.run(wish, clock.now());
      const answer = await commits.add<readonly Withdrawn[] | Fault>({
        rows: wish.events.length,
        run,
        failed: unwritable,
      });
      if (isFault(answer)) return answer;
      if (answer.length > 0) world.withdrawn(answer);
      return answer.length;
    },
  };

  /** Whoever has them in memory hears of it as soon as it is durable. */
  async function tellThen<T extends object>(written: Promise<T>, withdrawn: readonly Withdrawn[]): Promise<T> {
    const answer = await written;
    if (withdrawn.length > 0 && !isFault(answer)) world.withdrawn(withdrawn);
    return answer;
  }
}

/** A transaction that fails with others is tried by itself: nothing of the first time counts. */
function emptied<T>(list: T[]): T[] {
  list.length = 0;
  return list;
}

function rowsOf(entries: readonly Entry[]): number {
  return entries.reduce((rows, { deliverTo }) => rows + 1 + deliverTo.length, 0);
}
