import { TEST_NAME } from "../model/config.ts";
import { formatId } from "../model/delivery.ts";
import { ownEvent } from "../model/event.ts";
import { fault, isFault } from "../model/fault.ts";
import type { Accept, Clock, Random, SendTest } from "../model/ports.ts";

export type TestWorld = { readonly accept: Accept; readonly clock: Pick<Clock, "wall">; readonly random: Random };

const SUPPRESSED = fault(
  "user_suppressed",
  `the user of test calls was deleted: fairlead deletions unsuppress ${TEST_NAME} allows them again`,
);

/**
 * Makes the test calls of an operator. They take the way of all calls, to one destination, so an answer proves the URL,
 * the signature and the receiver. Their source is not in the config: no real source appears to have sent them.
 */
export function createSendTest({ accept, clock, random }: TestWorld): SendTest {
  return async function sendTest(destination) {
    const at = clock.wall();
    // It begins with the time, as all ids of this server do.
    const messageId = `fl-${at.toString(16).padStart(12, "0")}-${random.hex(10)}`;
    const words = { event: "Fairlead Test", properties: { test: true }, userId: TEST_NAME };
    const receipts = await accept(
      TEST_NAME,
      [ownEvent({ type: "track", messageId, ...words, at })],
      [{ testOf: destination }],
    );
    if (isFault(receipts)) return receipts;
    const [receipt] = receipts;
    if (receipt?.kind === "suppressed") return SUPPRESSED;
    const delivery = receipt?.kind === "accepted" ? receipt.deliveries[0] : undefined;
    // A fresh id is never a repeat, and a test always has a destination.
    if (delivery === undefined) throw new Error(`the test of ${destination} has no delivery`);
    return { messageId, delivery: formatId(delivery) };
  };
}
