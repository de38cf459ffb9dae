import type { Config } from "../model/config.ts";
import type { Event } from "../model/event.ts";
import { type Fault, fault, isFault } from "../model/fault.ts";
import type { Accept, Clock, Random, RequestDeletion } from "../model/ports.ts";
import type { Report } from "../model/report.ts";
import { type At, formatTime } from "../model/units.ts";

export type DeletionWorld = {
  readonly config: () => Config;
  readonly accept: Accept;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: Report;
};

/**
 * Sends one delete notification for each user and affected source that has webhooks enabled, through the same store,
 * retries and signatures as every call. Faults: `unknown_source`, and those of the store.
 */
export function createDeletion({ config, accept, clock, random, report }: DeletionWorld): RequestDeletion {
  return async function requestDeletion({ userIds, sources }) {
    const affected = affectedSources(config(), sources);
    if (isFault(affected)) return affected;
    const users = [...new Set(userIds)];
    const receivedAt = clock.wall();
    // Asked for together, so that they share one commit.
    const results = await Promise.all(
      affected.map((source) =>
        accept(
          source,
          users.map((userId) => notice(userId, receivedAt, random)),
        ),
      ),
    );
    const failed = results.find((result) => isFault(result));
    if (failed && isFault(failed)) return failed;
    const notifications = affected.length * users.length;
    report.deletionRequested(users.length, notifications, affected);
    return { notifications, sources: affected };
  };
}

/** Sources that were named, or all, less those whose events go to nobody. */
function affectedSources(config: Config, named: readonly string[] | null): readonly string[] | Fault {
  const known = config.sources.map((source) => source.name);
  const unknown = named?.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    return fault("unknown_source", `no source is named ${JSON.stringify(unknown)}; there are: ${known.join(", ")}`);
  }
  const takers = config.destinations.filter((destination) => destination.enabled);
  return [...new Set(named ?? known)].filter((name) => takers.some(({ sources }) => sources?.includes(name) ?? true));
}

function notice(userId: string, receivedAt: At, random: Random): Event {
  return {
    type: "delete",
    messageId: `delete-${receivedAt.toString(16).padStart(12, "0")}-${random.hex(10)}`,
    ownId: true,
    userId,
    anonymousId: undefined,
    previousId: undefined,
    groupId: undefined,
    event: undefined,
    name: undefined,
    category: undefined,
    channel: undefined,
    properties: undefined,
    traits: undefined,
    context: undefined,
    integrations: undefined,
    timestamp: formatTime(receivedAt),
    originalTimestamp: undefined,
    sentAt: undefined,
    receivedAt,
  };
}
