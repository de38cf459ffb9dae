import { describe } from "node:test";
import { describeAppend } from "./conformance/append.ts";
import { describeBacklog } from "./conformance/backlog.ts";
import { describeClocks } from "./conformance/clocks.ts";
import { describeDeletions } from "./conformance/deletions.ts";
import { describeHealth } from "./conformance/health.ts";
import { describeLookup } from "./conformance/lookup.ts";
import { describeMarks } from "./conformance/marks.ts";
import { describeMembers } from "./conformance/members.ts";
import { describePayloads } from "./conformance/payloads.ts";
import { describePrune } from "./conformance/prune.ts";
import { describeQueues } from "./conformance/queues.ts";
import { describeRepeats } from "./conformance/repeats.ts";
import { describeReplay } from "./conformance/replay.ts";
import { describeSequences } from "./conformance/sequences.ts";
import { describeSettle } from "./conformance/settle.ts";
import { type Abilities, describeSharing } from "./conformance/sharing.ts";
import { describeUnserved } from "./conformance/unserved.ts";
import { describeWithdraw } from "./conformance/withdraw.ts";
import type { OpenStore } from "./harness.ts";

/** What the daemon asks of any store, whatever its engine: to be called by each engine's tests. */
export function describeStore(name: string, open: OpenStore, abilities: Abilities): void {
  describe(`the store on ${name}`, () => {
    describeAppend(open);
    describeRepeats(open);
    describeQueues(open);
    describeSettle(open);
    describeBacklog(open);
    describePrune(open, abilities);
    describeUnserved(open);
    describePayloads(open);
    describeReplay(open);
    describeWithdraw(open);
    describeClocks(open, abilities);
    describeMarks(open, abilities);
    describeLookup(open);
    describeDeletions(open);
    describeMembers(open);
    describeHealth(open, abilities);
    describeSequences(open);
    describeSharing(abilities.together ?? open, abilities);
  });
}
