import type { DestinationStatus, Problem, Status, WebhookHealth } from "../model/status.ts";
import { formatDuration, formatSize } from "../model/units.ts";

/** Of `outbox.maxSize`: from here on it is worth a word. */
const CROWDED = 0.8;

/**
 * What is wrong with a running daemon, and since when, the worst first: as far as it knows by itself. Points in time are of
 * the wall clock.
 */
export function problemsOf(status: Omit<Status, "problems">): readonly Problem[] {
  const found = [
    ...ofOutbox(status.outbox),
    ...ofClock(status.clock),
    ...ofConfig(status.config),
    ...status.destinations.flatMap(ofDestination),
  ];
  return found.sort((a, b) => Number(a.level === "warning") - Number(b.level === "warning"));
}

function ofOutbox({ path, writable, full, used, max, free, gone }: Status["outbox"]): readonly Problem[] {
  if (gone !== null) {
    const what = `calls are refused: ${gone.path} was ${gone.what} under the daemon`;
    return [{ level: "error", code: "outbox_gone", what, since: gone.since, remedy: RESCUE }];
  }
  const size = `${formatSize(used)} of ${formatSize(max)}`;
  const left = free === null ? "" : `, ${formatSize(free)} of the disk free`;
  if (full !== null) {
    const what = `calls are refused: outbox.${full} is reached (${size} used${left})`;
    return [{ level: "error", code: "store_full", what, since: null, remedy: ROOM }];
  }
  if (!writable) {
    const what = `calls are refused: ${path} cannot be written`;
    return [{ level: "error", code: "store_failed", what, since: null, remedy: "the log says why" }];
  }
  if (used < max * CROWDED) return [];
  return [
    { level: "warning", code: "store_crowded", what: `the outbox is nearly full: ${size}`, since: null, remedy: ROOM },
  ];
}

const RESCUE =
  "do not stop the daemon: fairlead backup FILE copies what it still has; then stop it, fairlead restore --force FILE, and start it";
const ROOM = "deliver or discard what waits (fairlead status says for whom), or raise outbox.maxSize";

function ofClock(clock: Status["clock"]): readonly Problem[] {
  if (clock.plausible) return [];
  const { code, reason, since } = clock;
  const remedy = "set the machine's clock (timedatectl, or its time service): new events get its stamps";
  return [{ level: "warning", code: `clock_${code}`, what: reason, since, remedy }];
}

function ofConfig({ refused, needsRestart }: Status["config"]): readonly Problem[] {
  const found: Problem[] = [];
  if (refused) {
    const what = `the config is not in force: ${refused.reason}`;
    found.push({ level: "error", code: "config_refused", what, since: refused.at, remedy: "fairlead check" });
  }
  if (needsRestart.length > 0) {
    const what = `changes of ${needsRestart.join(", ")} take effect at the next start`;
    found.push({ level: "warning", code: "restart_needed", what, since: null, remedy: "systemctl restart fairlead" });
  }
  return found;
}

function ofDestination(one: DestinationStatus): readonly Problem[] {
  const { name, state, counts, pausedSince } = one;
  if (state === "removed" || state === "disabled") return counts.waiting === 0 ? [] : [unserved(one)];
  if (state === "paused") {
    const what = `${name} is paused${waitingFor(one)}`;
    return [
      { level: "warning", code: "destination_paused", what, since: pausedSince, remedy: `fairlead resume ${name}` },
    ];
  }
  const isDown = state === "failing" || state === "offline";
  return one.webhooks.filter(isBad).map((webhook) => ({
    level: isDown ? "error" : "warning",
    code: `webhook_${webhook.state}`,
    what: `${name}: ${webhook.url} ${HOW[webhook.state]}${answer(webhook)}${isDown ? waitingFor(one) : ""}`,
    since: webhook.failingSince,
    remedy: `once it is well again: fairlead retry ${name}`,
  }));
}

const HOW: Readonly<Record<WebhookHealth["state"], string>> = {
  untried: "",
  working: "",
  failing: "takes nothing",
  slowed: "refuses everything",
  down: "does not answer",
  offline: "cannot be reached: this machine has no network",
};

function isBad({ state }: WebhookHealth): boolean {
  return state !== "untried" && state !== "working";
}

function answer({ lastFailure }: WebhookHealth): string {
  return lastFailure === null ? "" : ` (${lastFailure.reason})`;
}

function unserved(one: DestinationStatus): Problem {
  const { name, state } = one;
  const what = `${name} is ${state === "removed" ? "not in the config" : "disabled"}${waitingFor(one)}`;
  const remedy = `put it back into the config, or fairlead move ${name} OTHER, or fairlead discard ${name}`;
  return { level: "warning", code: "unserved", what, since: null, remedy };
}

function waitingFor({ counts, oldestWaiting }: DestinationStatus): string {
  if (counts.waiting === 0) return "";
  const age = oldestWaiting === null ? "" : `, the oldest for ${formatDuration(oldestWaiting)}`;
  return `, ${counts.waiting} ${counts.waiting === 1 ? "delivery waits" : "deliveries wait"}${age}`;
}
