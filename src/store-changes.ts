import type { Worker as SyncWorker } from "./audience/worker.ts";
import type { Worker as DeletionWorker } from "./deletion/worker.ts";
import type { Deliver } from "./deliver/deliver.ts";
import type { DeliveryKey } from "./model/delivery.ts";
import { never } from "./model/never.ts";
import type { StoreChange } from "./model/ports.ts";
import type { Report } from "./model/report.ts";
import type { Rounds } from "./model/rounds.ts";

/** Who has to know. */
type Hearers = {
  readonly deliver: Deliver;
  readonly janitor: Rounds;
  readonly deletion: DeletionWorker;
  readonly syncs: SyncWorker;
};

/** Passes on what the store has changed by itself, or for another part. */
export function applyStoreChange(
  change: StoreChange,
  { deliver, janitor, deletion, syncs }: Hearers,
  report: Report,
): void {
  switch (change.kind) {
    case "moved":
      deliver.readAgain();
      break;
    case "lost":
      deliver.forget(change.has);
      break;
    case "clocks":
      deliver.hearClocks(change.clocks);
      break;
    case "daemons":
      deliver.shareSlots(change.alive);
      break;
    case "crowded":
      janitor.wake();
      break;
    case "work":
      deletion.wake();
      syncs.wake();
      break;
    case "retry":
      deliver.tryNow(change.destination, true);
      break;
    case "holds":
      deliver.hearHolds(change.holds);
      break;
    case "withdrawn":
      deliver.withdraw(change.deliveries);
      if (!change.elsewhere) reportWithdrawn(change.deliveries, report);
      break;
    default:
      never(change);
  }
}

function reportWithdrawn(deliveries: readonly DeliveryKey[], report: Report): void {
  const byName = Map.groupBy(deliveries, ({ destination }) => destination);
  for (const [name, withdrawn] of byName) report.withdrawn(name, withdrawn.length);
}
