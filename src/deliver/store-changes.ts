import type { DeliveryKey } from "../model/delivery.ts";
import { never } from "../model/never.ts";
import type { StoreChange } from "../model/ports.ts";
import type { Report } from "../model/report.ts";
import type { Deliver } from "./deliver.ts";

type Worker = { wake(): void };

/** The parts of the daemon that must learn about changes in the store. */
type Changed = {
  readonly deliver: Deliver;
  readonly janitor: Worker;
  readonly deletion: Worker;
  readonly syncs: Worker;
  readonly waitingBytes: { countAnew(): void };
};

/** Passes on what the store has changed by itself, or for another part. */
export function applyStoreChange(change: StoreChange, parts: Changed, report: Pick<Report, "withdrawn">): void {
  const { deliver, janitor, deletion, syncs, waitingBytes } = parts;
  switch (change.kind) {
    case "moved":
      deliver.readAgain(change.what);
      waitingBytes.countAnew();
      break;
    case "lost":
      deliver.forget(change.has);
      waitingBytes.countAnew();
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
      waitingBytes.countAnew();
      if (!change.elsewhere) reportWithdrawn(change.deliveries, report);
      break;
    default:
      never(change);
  }
}

function reportWithdrawn(deliveries: readonly DeliveryKey[], report: Pick<Report, "withdrawn">): void {
  const byName = Map.groupBy(deliveries, ({ destination }) => destination);
  for (const [name, withdrawn] of byName) report.withdrawn(name, withdrawn.length);
}
