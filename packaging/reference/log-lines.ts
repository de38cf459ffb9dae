import type { LogLevel } from "../../src/model/config.ts";

/** A line of the log, for people. The texts are Markdown; links start at docs/reference/. */
export type LogLine = {
  /** The level that it has. Two, if that depends on what happened. */
  readonly level: LogLevel | readonly [LogLevel, LogLevel];
  readonly says: string;
  /** What to do; left out where nothing needs doing. */
  readonly remedy?: string;
};

type Lines = Readonly<Record<string, LogLine>>;

const DAEMON: Lines = {
  "daemon.started": { level: "info", says: "The daemon accepts calls at these addresses, with this config." },
  "daemon.stopping": { level: "info", says: "A signal to stop arrived." },
  "daemon.stopped": {
    level: "info",
    says: "Everything is stored. If this line is missing after `daemon.stopping`, the daemon was killed, and repeats unfinished attempts.",
  },
  "daemon.reloaded": {
    level: "info",
    says: "A changed config is in force. `changes=` lists what changed, `needsRestart=` the keys that take effect at the next start.",
    remedy: "`systemctl restart fairlead` if `needsRestart=` is there.",
  },
  "daemon.reload_failed": {
    level: "error",
    says: "The changed config was refused. The previous one stays in force, but the daemon would not start with the new one.",
    remedy: "Run `fairlead check`, fix what it shows, then `fairlead reload`.",
  },
  "daemon.config_problem": {
    level: "error",
    says: "An error in the config.",
    remedy: "Fix it at its line and column.",
  },
  "daemon.config_warning": {
    level: "warning",
    says:
      "Something in the config is allowed but probably a mistake: a secret that everyone can read, a source without a " +
      "destination, a disk too small for `outbox.maxSize`.",
  },
  "daemon.database_doubtful": {
    level: "warning",
    says: "A setting of the PostgreSQL server may lose or delay acknowledged calls: `code=`, `reason=`.",
    remedy: "See [the checks at the start](../operate/postgres.md#what-the-start-checks).",
  },
  "daemon.unserved": {
    level: "warning",
    says: "Deliveries wait for a destination that is removed or disabled.",
    remedy: "Move or discard them: [destinations that are gone](../operate/gone.md).",
  },
  "daemon.untrusted_proxy": {
    level: "warning",
    says: "An address in your network sends `X-Forwarded-For`, which is ignored.",
    remedy: "If it is your proxy, list it in [`ingest.trustedProxies`](config/ingest.md#ingesttrustedproxies).",
  },
  "daemon.migrating": {
    level: "info",
    says: "An outbox of an older version is being brought up to date: `step=` of `of=`.",
    remedy: "Wait. A kill loses nothing.",
  },
  "daemon.copying_outbox": {
    level: "info",
    says: "A copy of the outbox is made at `to=` before the first step of a migration.",
    remedy: "The copy stays until you remove it: [upgrade](../operate/upgrade.md#the-copy-before-an-upgrade).",
  },
  "daemon.outbox_copied": {
    level: "info",
    says: "A copy of an outbox that is gone was downloaded: `bytes=`.",
    remedy: "Restore it: [an outbox that is gone](../operate/outbox.md#an-outbox-that-is-gone).",
  },
  "daemon.stuck": {
    level: "error",
    says: "Commits do not complete, or a delivery loop has stopped: `what=`.",
    remedy:
      'With `what="the store"`, end the program that holds the outbox open (`fuser -v /var/lib/fairlead/fairlead.db`) and check the disk.',
  },
  "daemon.unstuck": { level: "info", says: "The daemon works again, `after=`." },
  "daemon.clock_implausible": {
    level: "warning",
    says: "The machine's clock cannot be right: `code=`, `reason=`.",
    remedy: "Let a time service set it: [the clock](../operate/clock.md).",
  },
  "daemon.clock_plausible": { level: "info", says: "The machine's clock is plausible again, `after=`." },
  "daemon.clock_stepped": { level: "info", says: "The machine's clock was set, `by=` a minute or more." },
  "daemon.downtime_unknown": {
    level: "warning",
    says: "The machine was restarted, and its clock does not show how long it was off. That time counts as zero.",
  },
  "daemon.notification": {
    level: "info",
    says: "A notification of `notify` was sent: `kind=`, `state=`, `title=`.",
    remedy: "See [notifications](../configure/notify.md).",
  },
  "daemon.notification_refused": {
    level: "warning",
    says: "A notification could not be stored, because the outbox refuses writes: `code=`, `reason=`. Logged once.",
    remedy: "Fix the outbox. The notification is sent once it accepts writes.",
  },
  "daemon.notify_failed": {
    level: "warning",
    says: "Messages to systemd cannot be sent.",
    remedy: "Set `NotifyAccess=all` in the unit: [systemd](../install/systemd.md).",
  },
  "daemon.unexpected": {
    level: "error",
    says: "A bug in Fairlead. No acknowledged event is lost by it.",
    remedy: "Report it with the whole line.",
  },
  "log.dropped": {
    level: "error",
    says:
      "`count=` lines are missing here, because the reader of the log had stopped. Fairlead buffers 256 KB of lines, drops " +
      "the rest and keeps working.",
    remedy: "Check the collector or log driver. `fairlead_log_lines_dropped_total` counts the lines.",
  },
};

const CALLS: Lines = {
  "call.accepted": { level: "debug", says: "Calls are on the disk." },
  "call.rejected": {
    level: "warning",
    says: "A call was refused: `code=`, `reason=`, `source=`.",
    remedy: "`fairlead rejected` shows who sent what. See [the codes](codes.md#calls).",
  },
  "event.unrouted": {
    level: "warning",
    says:
      "No destination takes the event, because of `rule=`: `destination_disabled`, `source_not_selected`, `type_not_selected`, " +
      "`integration_disabled`, `all_integrations_disabled`, `historical`, `event_not_selected`, `condition_not_met`, " +
      "`not_sampled` or `no_destination`.",
    remedy:
      "If that is not intended, check `enabled`, `sources`, `types`, `historical`, `events`, `where` and `sample` of the " +
      "destination, and `integrations` of the call: [routing](../configure/routing.md).",
  },
  "payload.shortened": {
    level: "warning",
    says:
      "The payload of a template would have been longer than 512 KB. Texts over 500 characters are cut in it, and long " +
      "objects and lists are null. `event=` is the messageId.",
    remedy: "Use `truncate` in the template, or fewer references to large objects.",
  },
};

const DELIVERIES: Lines = {
  "attempt.failed": {
    level: ["warning", "error"],
    says: "A webhook did not accept an event: `outcome=`, `status=`, `reason=`. An error for `timeout` and `untrusted`.",
    remedy: "Look up the outcome: [attempts that fail](../operate/attempts.md).",
  },
  "attempt.delivered": { level: "debug", says: "A webhook accepted an event." },
  "attempt.released": { level: "debug", says: "The daemon stopped before the answer came. The attempt is repeated." },
  "lane.closed": {
    level: "warning",
    says: "The webhook has not answered ten attempts in a row. Single requests probe it, the next one after `probe=`.",
    remedy: "Fix the receiver, then run `fairlead retry NAME`. Other destinations are not affected.",
  },
  "lane.slowed": {
    level: "warning",
    says: "The webhook answers, but has refused everything for a while. It gets four requests a second, new events first.",
    remedy: "`reason=` is its last answer. Find out why it refuses.",
  },
  "lane.opened": {
    level: "info",
    says: "The receiver answers again. It gets the waiting deliveries: a few at a time, then more.",
  },
  "delivery.delivered": { level: "debug", says: "The delivery is complete." },
  "delivery.retrying": { level: "debug", says: "The attempt failed; the next one is due after `next=`." },
  "delivery.failed": {
    level: "error",
    says: "All its webhooks have finally refused the event.",
    remedy: "`fairlead deliveries --state failed` lists them. Fix the receiver, then run `fairlead replay`.",
  },
  "delivery.expired": {
    level: "error",
    says: "No attempt succeeded within the `cutoff` (4 h) of the first one.",
    remedy: "`fairlead deliveries --state expired` lists them. Fix the receiver, then run `fairlead replay`.",
  },
  "delivery.released": {
    level: "info",
    says: "`count=` attempts were running when the daemon stopped. They are repeated after the start.",
  },
  "delivery.withdrawn": {
    level: "info",
    says: "Waiting deliveries were ended, because their user was deleted or something newer about the user replaces them.",
  },
};

const DESTINATIONS: Lines = {
  "destination.paused": { level: "info", says: "An operator paused it." },
  "destination.resumed": { level: "info", says: "An operator resumed it." },
  "destination.retried": { level: "info", says: "An operator had its waiting deliveries retried at once." },
  "destination.tested": {
    level: "info",
    says: "[A test call](operator-api.md#a-test-call) was accepted for it. `event=` is its messageId.",
  },
  "destination.still_paused": {
    level: "warning",
    says: "At a start or reload: the destination is paused and gets nothing.",
    remedy: "`fairlead resume NAME`, if that was forgotten.",
  },
  "destination.replayed": { level: "info", says: "An operator sent deliveries again. One line for each page of them." },
  "destination.moved": { level: "info", says: "An operator moved deliveries to it. One line for each page of them." },
  "destination.discarded": { level: "warning", says: "An operator discarded deliveries. They are `failed` now." },
};

const PEOPLE: Lines = {
  "deletion.requested": {
    level: ["info", "warning"],
    says: "A request to delete users has begun. A warning if no destination is notified, or one cannot be (`untold=`).",
  },
  "deletion.finished": {
    level: "info",
    says: "All receivers were notified. With `erase`, the data here is erased.",
  },
  "deletion.failed": {
    level: "error",
    says: "A receiver was not notified: its notification failed or expired.",
    remedy: "See [deletions](../deletions.md).",
  },
  ...syncLines("audience"),
  ...syncLines("trait"),
};

function syncLines(kind: "audience" | "trait"): Lines {
  return {
    [`${kind}.sync_started`]: { level: "info", says: "A list is compared, and its changes are sent." },
    [`${kind}.sync_finished`]: { level: "info", says: "All changes of the list are accepted for delivery." },
    [`${kind}.sync_failed`]: {
      level: "warning",
      says: "A list was refused: `code=`, `reason=`.",
      remedy: "See [audiences](../audiences.md). `list_shrinks` guards against an incomplete list.",
    },
    [`${kind}.sync_waits`]: {
      level: "warning",
      says: "The sync is blocked: the outbox is full, or the source is disabled or removed.",
      remedy: "Resolve what `reason=` names. The sync then continues.",
    },
  };
}

const STORE: Lines = {
  "store.full": {
    level: "error",
    says: "Calls are refused: `bound=outbox.maxSize` or `bound=outbox.freeDisk`.",
    remedy: "See [when the outbox is full](../operate/outbox.md#when-the-outbox-is-full).",
  },
  "store.open": { level: "info", says: "Calls are accepted again." },
  "store.gone": {
    level: "error",
    says: "The outbox was removed, replaced or cut short while the daemon runs. Calls are refused.",
    remedy: "Do not stop the daemon. See [an outbox that is gone](../operate/outbox.md#an-outbox-that-is-gone).",
  },
  "store.rescued": {
    level: "error",
    says: "The daemon was stopped while its outbox was gone. `path=` is a copy of what it had.",
    remedy: "Run `fairlead restore --force` with that copy before the next start.",
  },
  "store.found": { level: "info", says: "The same file is back. Calls are accepted again." },
  "store.log_renewed": {
    level: "error",
    says: "The write-ahead log was removed or replaced while the daemon runs, and was created again. Nothing is lost.",
    remedy: "Find out what removes it.",
  },
  "store.lock_renewed": {
    level: "error",
    says: "The lock file was removed or replaced while the daemon runs, and was created again. Nothing is lost.",
    remedy: "Find out what removes it.",
  },
  "store.failed": {
    level: "error",
    says:
      "With `doing=commit`, calls were answered 503 and none of them is stored. Other work, such as `doing=prune` or a read, " +
      "is tried again. `reason=` comes from SQLite: `database or disk is full` and `disk I/O error` are about the disk, " +
      "`database is locked` about another program. A `damaged` segment is not sent; the segments after it are.",
    remedy: "Run `fairlead doctor`, then [restore a backup](../operate/backup.md).",
  },
  "store.slow_commit": {
    level: "warning",
    says: "A commit took more than a second.",
    remedy: "The disk is slow or busy: `cat /proc/pressure/io`.",
  },
  "store.pruned": {
    level: ["info", "warning"],
    says: "Rows were removed: `reason=age`, or a warning with `reason=space` before their time.",
    remedy: "For `space`, raise `outbox.maxSize`, or fix the destination with many waiting deliveries.",
  },
  "store.disk_unknown": {
    level: "warning",
    says: "The system does not say how much of the disk is free, so `outbox.freeDisk` has no effect.",
    remedy: "Watch that disk by other means.",
  },
};

/** Every line that the daemon can write, by the heading under which the manual has it. test/docs holds the list and the levels. */
export const LOG_LINES: Readonly<Record<string, Lines>> = {
  "The daemon": DAEMON,
  Calls: CALLS,
  Deliveries: DELIVERIES,
  Destinations: DESTINATIONS,
  "Deletions and audiences": PEOPLE,
  "The outbox": STORE,
};
