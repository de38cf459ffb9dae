import { formatSize } from "../../model/units.ts";
import type { DaemonStatus } from "../../wire/status.ts";
import { type Finding, say } from "./finding.ts";

export type DaemonFacts =
  | {
      readonly kind: "answers";
      readonly status: DaemonStatus;
      readonly version: string;
      readonly outbox: string | null;
    }
  /** Nobody listens where the config says. */
  | { readonly kind: "down"; readonly message: string }
  /** Somebody may be there, and does not talk to this user. */
  | { readonly kind: "closed"; readonly message: string };

/** Whether the daemon runs, is the one of this binary, and is well by its own account. */
export function judgeDaemon(facts: DaemonFacts): readonly Finding[] {
  const { ok, skipped, warning } = say("daemon");
  if (facts.kind === "down")
    return [warning("daemon_down", facts.message, "start it: fairlead serve, or systemctl start fairlead")];
  if (facts.kind === "closed") return [skipped("unseen", facts.message)];
  const { status, version } = facts;
  const found = [...judgeVersion(status.version, version), ...judgeHealth(facts)];
  return found.length > 0 ? found : [ok(`process ${status.pid} runs this version, ${version}, by the newest config`)];
}

function judgeVersion(running: string, own: string): readonly Finding[] {
  if (running === own) return [];
  const what = `the daemon that runs is version ${running}, and this binary is ${own}`;
  return [say("daemon").warning("version_differs", what, "restart it: systemctl restart fairlead")];
}

function judgeHealth({ status, outbox }: Extract<DaemonFacts, { kind: "answers" }>): readonly Finding[] {
  const { warning, error } = say("daemon");
  const { config, outbox: its } = status;
  const found: Finding[] = [];
  if (config.refused) {
    found.push(
      error("config_refused", `the daemon has refused the config: ${config.refused.reason}`, "fairlead check says why"),
    );
  }
  if (config.needsRestart.length > 0) {
    const what = `changes of ${config.needsRestart.join(", ")} count from the next start on`;
    found.push(warning("restart_needed", what, "restart it: systemctl restart fairlead"));
  }
  if (!its.writable) found.push(error("store_failed", "the daemon cannot write its outbox", "its log says why"));
  if (its.full !== null) {
    const used = `${formatSize(its.used)} of ${formatSize(its.max)} are used`;
    found.push(
      error(
        "store_full",
        `the daemon refuses calls because of ${its.full} (${used})`,
        "see docs: when the outbox is full",
      ),
    );
  } else if (its.used >= its.max * 0.9) {
    const what = `the outbox is nearly full: ${formatSize(its.used)} of ${formatSize(its.max)}`;
    found.push(
      warning("store_crowded", what, "see which destination fails (fairlead status), or raise outbox.maxSize"),
    );
  }
  if (outbox !== null && its.path !== outbox) {
    const what = `the daemon has ${its.path} as its outbox, and the config ${outbox}`;
    found.push(warning("outbox_differs", what, "restart it, or name the config that it runs by with --config"));
  }
  return found;
}
