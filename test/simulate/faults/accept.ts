import type * as AcceptStage from "../../../src/accept/accept.ts";
import { isFault } from "../../../src/model/fault.ts";
import type { Receipt } from "../../../src/model/ports.ts";
import type * as Route from "../../../src/route/route.ts";
import type * as Append from "../../../src/store/sqlite/append.ts";
import type * as Intake from "../../../src/store/sqlite/append.ts";
import type * as Repeats from "../../../src/store/sqlite/repeats.ts";
import type * as Body from "../../../src/webhook/body.ts";
import type * as Signature from "../../../src/webhook/signature.ts";
import { fault } from "./fault.ts";

const ACCEPTED: Receipt = { kind: "accepted", deliveries: [] };

/** What can go wrong between a call and its commit. */
export const ACCEPT_FAULTS = [
  fault<typeof AcceptStage>("answers before the commit", "accept/accept.ts", ({ createAccept }) => ({
    createAccept: (world) =>
      createAccept({
        ...world,
        async append(entries) {
          // What the daemon says itself it would say again and again.
          if (entries.some(({ notice, change }) => notice ?? change)) return world.append(entries);
          void world.append(entries).then((receipts) => {
            if (isFault(receipts)) return;
            for (const receipt of receipts) if (receipt.kind === "accepted") world.enqueue(receipt.deliveries);
          });
          return entries.map(() => ACCEPTED);
        },
      }),
  })),
  fault<typeof Intake>("acknowledges what could not be committed", "store/sqlite/append.ts", ({ createIntake }) => ({
    createIntake(world) {
      const real = createIntake(world);
      const append: typeof real.append = async (entries) => {
        if (entries.some(({ notice, change }) => notice ?? change)) return real.append(entries);
        const receipts = await real.append(entries);
        return isFault(receipts) ? entries.map(() => ACCEPTED) : receipts;
      };
      return { ...real, append };
    },
  })),
  fault<typeof AcceptStage>("does not set off what it has committed", "accept/accept.ts", ({ createAccept }) => ({
    createAccept: (world) => createAccept({ ...world, enqueue: (deliveries) => world.enqueue(deliveries.slice(1)) }),
  })),
  fault<typeof Repeats>("does not recognise repeats", "store/sqlite/repeats.ts", ({ createRepeats }) => ({
    createRepeats: (db) => ({ ...createRepeats(db), isRepeat: () => false }),
  })),
  fault<typeof Repeats>(
    "remembers repeats of what was rolled back",
    "store/sqlite/repeats.ts",
    ({ createRepeats }) => ({
      createRepeats: (db) => ({ ...createRepeats(db), rolledBack() {} }),
    }),
  ),
  fault<typeof Route>("sends to those who are disabled, or not for it", "route/route.ts", () => ({
    route: (_event, _source, destinations) => destinations.map(({ name }) => ({ kind: "deliver", destination: name })),
  })),
  fault<typeof Body>("writes a body with its keys in another order", "webhook/body.ts", ({ writeBody }) => ({
    writeBody: (event) => JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(writeBody(event))).reverse())),
  })),
  fault<typeof Signature>("signs with characters in place of bytes", "webhook/signature.ts", ({ sign }) => ({
    sign: (body, secret) => sign(Buffer.from(String(body), "latin1"), secret),
  })),
  fault<typeof Append>("calls a membership twice", "store/sqlite/append.ts", ({ createAppend }) => ({
    createAppend(parts) {
      const append = createAppend(parts);
      return (tx, entries, withdrawn) => {
        const receipts = append(tx, entries, withdrawn);
        const again = entries.filter(({ change }) => change).map(({ change, ...entry }) => entry);
        append(tx, again, withdrawn);
        return receipts;
      };
    },
  })),
];
