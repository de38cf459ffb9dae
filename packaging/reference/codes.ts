import { FAULT_STATUS, type FaultCode } from "../../src/model/fault.ts";
import { code, contents, page, prose, table } from "./markdown.ts";

type Meaning = readonly [means: string, remedy: string];

/** Refusals of the HTTP API for calls. The operator's API has some of them too. */
const OF_CALLS: Partial<Readonly<Record<FaultCode, Meaning>>> = {
  invalid_json: [
    "The body is not JSON, or there is none. The message has the line and the column.",
    "Send one JSON object. Python writes `NaN` unless you pass `allow_nan=False`.",
  ],
  invalid_encoding: [
    "The body is not UTF-8, or not the gzip that its header announces.",
    "Send UTF-8. Invalid bytes are never replaced.",
  ],
  unsupported_media_type: [
    "The body is compressed with something other than gzip. In the operator's API: a POST that is not `application/json`.",
    "Use gzip, or no `Content-Encoding`. Send `Content-Type: application/json` to the operator's API.",
  ],
  invalid_request: [
    "The envelope of a batch is not an object with `batch` in it. In the operator's API: a parameter or a body has the wrong form.",
    'Send `{"batch": […]}`. Otherwise the message names the part that is wrong.',
  ],
  invalid_call: [
    "The call is not an object, or a field has the wrong type.",
    "The message names the field and its type.",
  ],
  unknown_type: ["`type` is none of the six.", "Use identify, track, page, screen, group or alias."],
  missing_id: [
    "There is no `userId` and no `anonymousId` (alias: no `userId`). An empty one counts as none.",
    "Send one.",
  ],
  missing_event: ["A track call has no `event`.", "Name what happened."],
  missing_group_id: ["A group call has no `groupId`.", "Send it."],
  missing_previous_id: ["An alias call has no `previousId`.", "Send it."],
  message_id_too_long: ["`messageId` has 100 characters or more.", "Use a UUID, or leave it out."],
  invalid_timestamp: [
    "`timestamp`, `originalTimestamp` or `sentAt` is not an ISO 8601 time.",
    "Send `2009-11-10T23:00:00.000Z`.",
  ],
  number_out_of_range: ["A number like `1e999`, which JSON would write as `null`.", "Send it as a string."],
  too_deep: [
    "More than 200 objects and arrays are nested. A body with more than 1,000 is refused whole, before it is parsed.",
    "Flatten it.",
  ],
  call_too_large: [
    "The call is over 32 KB (32,768 bytes), or `ingest.maxCall`, as compact JSON with the `context` and `integrations` of its envelope.",
    "Send less in one call.",
  ],
  envelope_too_large: [
    "The `context` and `integrations` of a batch, counted once for each of its calls, are over 4 MB.",
    "Send smaller batches, or less in the envelope.",
  ],
  body_too_large: [
    "The body is over 500 KB (512,000 bytes), or `ingest.maxBatch`, decompressed.",
    "Send smaller batches.",
  ],
  too_many_events: ["A batch has more than 2,500 calls. Those after that are refused.", "Send smaller batches."],
  body_incomplete: [
    "The connection was closed within the body. Nobody reads the answer, but it is counted.",
    "Look for a client or a proxy with a short timeout.",
  ],
  body_too_slow: [
    "The body was not complete after a minute; or after a second, when it had to make way for others.",
    "Retry.",
  ],
  too_many_bodies: [
    "All unfinished bodies together announce 64 MB. One without a length counts as `ingest.maxBatch`.",
    "Retry.",
  ],
  missing_write_key: [
    "There is no write key in any of its places.",
    "Send it as the user name of Basic authorization, or as `writeKey` in the body.",
  ],
  unknown_write_key: ["No source has this write key.", "Look it up under `sources` in the config."],
  source_disabled: ["The source has `enabled: false`.", "Enable it."],
  user_suppressed: [
    "The `userId` or `previousId` belongs to a deleted user whose calls are refused.",
    "The operator can take that back: `fairlead deletions unsuppress`.",
  ],
  not_found: ["Nothing is at this path.", "The message lists the paths."],
  method_not_allowed: ["Calls need POST; images and settings need GET.", "The header `Allow` says which."],
  overloaded: ["Calls that are not on the disk yet have 32 MB together: the disk is too slow.", "Retry."],
  rate_limited: [
    "The source sends more than its [`rate`](config/sources.md#sourcesnamerate).",
    "Retry after the time in `Retry-After`.",
  ],
  source_full: [
    "More of this source is waiting for delivery than its [`maxWaiting`](config/sources.md#sourcesnamemaxwaiting).",
    "Retry. The operator sees why deliveries wait.",
  ],
  store_full: [
    "The outbox has reached `outbox.maxSize`, or its disk `outbox.freeDisk`. Deliveries continue.",
    "Retry. The operator makes room: [the outbox](../operate/outbox.md#when-the-outbox-is-full).",
  ],
  store_failed: ["The outbox cannot be read or written.", "Retry. The operator's log says why."],
  outbox_gone: [
    "The outbox was removed, replaced or cut short while the daemon runs.",
    "Retry. The operator restores it.",
  ],
  stopping: [
    "The daemon is stopping, and this connection was open before.",
    "Retry: the next daemon may have started.",
  ],
  internal: ["A bug in Fairlead. The call was not accepted.", "Retry, and report the bug with the line in the log."],
};

/** Refusals of the operator's API alone, which its commands pass on. */
const OF_OPERATORS: Partial<Readonly<Record<FaultCode, Meaning>>> = {
  unauthorized: [
    "There is no `admin.token` in the request, or a wrong one.",
    "Send `Authorization: Bearer …`. Commands take it from the config, so they must be able to read that.",
  ],
  read_only: ["`admin.readToken` can only read.", "Send `admin.token`."],
  forbidden_host: [
    "`Host` is not the address of `admin.listen`; over a Unix socket, it is not a name of loopback.",
    "Use that address, not another name for it; over a socket, `http://localhost/`.",
  ],
  unknown_source: ["The source is not in the config.", "`fairlead status` lists them."],
  unknown_destination: ["The destination is neither in the config nor in the outbox.", "`fairlead status` lists them."],
  unknown_delivery: [
    "There is no delivery with this id, or it is no longer kept.",
    "`fairlead deliveries` lists them.",
  ],
  unknown_deletion: ["There is no request with this id, or it is no longer kept.", "`fairlead deletions` lists them."],
  unknown_audience: ["The source has no audience of this name.", "`fairlead audience list` lists them."],
  unknown_trait: ["The source has no trait of this name.", "`fairlead traits list` lists them."],
  destination_in_use: [
    "The destination is being delivered to.",
    "Pause it, disable it, or remove it from the config first.",
  ],
  destination_disabled: ["A test call could not go out.", "Enable the destination in the config."],
  destination_busy: ["Attempts that began earlier are still running.", "Try again in a second."],
  outbox_in_place: [
    "A copy is made through the daemon only while its outbox is gone.",
    "`fairlead backup` reads the file itself.",
  ],
  user_deleted: ["A delivery of a user who was deleted is not sent again.", "Nothing."],
  name_taken: ["Another audience or trait of the source becomes the same key.", "Choose another name."],
  sync_running: ["The last sync of it is not finished.", "Wait for it: `fairlead audience show`."],
  list_shrinks: ["The list would remove more than half.", "If that is right, allow it: [audiences](../audiences.md)."],
  too_many_watchers: ["Eight others read the live stream.", "Close one of them."],
  config_invalid: [
    "A reload found errors in the config, which the answer lists.",
    "Fix them. The previous config stays in force.",
  ],
};

/** Means something else at each of the two. */
const FORBIDDEN_ORIGIN = {
  calls: ["A page of an origin that `ingest.corsOrigins` does not list.", "List it."],
  operators: [
    "The request comes from a web page that is not the dashboard, or the browser does not say that it is.",
    "Programs send no `Origin`. Open the dashboard over HTTPS or at `localhost`.",
  ],
} as const;

/** What commands add, by exit code. test/docs holds the list. */
export const OF_COMMANDS: Readonly<Record<string, readonly [exit: string, means: string]>> = {
  usage: ["2", "The command line is wrong."],
  not_confirmed: ["1, 2", "The answer was no; or there was no terminal and no `--yes`."],
  config_unreadable: ["78", "There is no config, or this user may not read it."],
  config_invalid: ["78", "The config cannot be used."],
  unreachable: ["1", "No daemon answers at its address."],
  not_fairlead: ["1", "Something else answers there."],
  dashboard_off: ["1", "`fairlead open`: the config has `admin.dashboard: false`."],
  interrupted: ["1", "Ctrl-C. `message` says how far it came."],
  failed: ["1", "Anything else."],
};

/** Why an outbox is not opened, copied or migrated. test/docs holds the list. */
export const OF_OUTBOXES: Readonly<Record<string, readonly [exit: string, means: string, remedy: string]>> = {
  schema_newer: [
    "78",
    "A newer Fairlead wrote the outbox.",
    "Start that one, or restore a copy from before the upgrade.",
  ],
  schema_unsupported: [
    "78",
    "A development version before 0.1.0 wrote the file.",
    "Set another `outbox.path`, or move the file away.",
  ],
  no_room_for_copy: [
    "1",
    "The disk has no room for the copy that is made before a migration.",
    "Make room, or copy it elsewhere and start once with `--no-copy`: [upgrade](../operate/upgrade.md).",
  ],
  schema_missing: [
    "78",
    "PostgreSQL: there are no tables, and the role may not create them.",
    "`fairlead migrate --as OWNER`: [an outbox on PostgreSQL](../operate/postgres.md).",
  ],
  schema_older: [
    "78",
    "PostgreSQL: the tables are of an older version, and the role may not change them.",
    "`fairlead migrate --as OWNER`.",
  ],
  grants_missing: ["78", "PostgreSQL: the role may not use the tables.", "`fairlead migrate --as OWNER`."],
  copy_unfinished: [
    "78",
    "`fairlead copy-outbox` was interrupted.",
    "Run it again: it continues. [Move an outbox](../operate/postgres.md#move-an-outbox-to-postgresql-or-back).",
  ],
  server_too_old: ["78", "The server is older than PostgreSQL 14.", "Upgrade it."],
  daemons_older: [
    "1",
    "A daemon of a much older version still runs.",
    "Upgrade that daemon first, through the versions in between.",
  ],
  server_is_standby: ["1", "`outbox.url` leads to a standby.", "Name the primary."],
  database_away: ["1", "The PostgreSQL of `outbox.url` cannot be reached.", "`fairlead doctor` says why."],
  store_damaged: [
    "1",
    "`fairlead copy-outbox` or `restore`: the file is damaged.",
    "`fairlead doctor` shows what is wrong; [restore a backup](../operate/backup.md).",
  ],
  outbox_is_database: [
    "2",
    "The command is for a file, and the config has `outbox.url`.",
    "See [an outbox on PostgreSQL](../operate/postgres.md).",
  ],
  outbox_in_use: [
    "1",
    "`fairlead copy-outbox`: a daemon has one of the two outboxes open.",
    "Stop all daemons, and wait a few seconds.",
  ],
  target_not_empty: ["1", "`fairlead copy-outbox`: the target holds data of its own.", "Name an empty one."],
  copy_of_another: [
    "1",
    "`fairlead copy-outbox`: the target holds an unfinished copy of another outbox.",
    "Continue that one, or name an empty target.",
  ],
  copy_of_same_kind: [
    "2",
    "`fairlead copy-outbox`: both ends are files, or both are databases.",
    "`fairlead backup` copies a file.",
  ],
  copy_differs: [
    "1",
    "`fairlead copy-outbox`: the copy is not what the source holds.",
    "The copy is not finished. Run it again, and report it if that does not help.",
  ],
  source_changed: [
    "1",
    "`fairlead copy-outbox`: a daemon has had the source open since the copy began.",
    "Stop all daemons, empty the target, and copy again.",
  ],
  source_unfinished: [
    "1",
    "`fairlead copy-outbox`: the source is itself an unfinished copy.",
    "Finish that copy first.",
  ],
};

/** What `fairlead status` and `fairlead doctor` find. Both print what to do. test/docs holds the list. */
export const PROBLEMS: Readonly<Record<string, readonly [by: string, means: string]>> = {
  behind_proxy: ["doctor", "The webhook is behind a proxy. The proxy answers; the webhook was not tried."],
  certificate_ends: ["doctor", "The certificate of a webhook ends soon."],
  clock_ahead: [
    "both",
    "The machine's clock is far ahead of what the outbox has seen, or 15 years later than the build of this Fairlead.",
  ],
  clock_before_build: ["status", "The machine's clock is earlier than the moment when this Fairlead was built."],
  clock_behind: ["both", "The machine's clock is behind what the outbox has seen."],
  clock_unset: ["doctor", "The same as `clock_before_build`."],
  clock_unsynchronized: ["doctor", "No time service sets the machine's clock."],
  config_doubtful: ["doctor", "A warning in the config."],
  config_invalid: ["doctor", "An error in the config."],
  config_refused: ["both", "The daemon refused the changed config, and keeps the old one."],
  config_unlike_here: [
    "doctor",
    "A problem that only this user's environment causes: the daemon has accepted the config.",
  ],
  config_unreadable: ["doctor", "There is no config, or this user may not read it."],
  daemon_down: ["doctor", "No daemon is running."],
  daemon_silent: ["status", "Another daemon on the same PostgreSQL is silent. Others deliver its events."],
  database_away: ["both", "The PostgreSQL server does not answer. Calls are refused."],
  destination_paused: ["status", "A destination is paused."],
  disk_full: ["doctor", "The disk has no room, so the daemon refuses calls."],
  disk_small: ["doctor", "The disk is full before the outbox reaches `outbox.maxSize`."],
  files_few: ["doctor", "The limit of open files leaves few connections for clients."],
  files_used: ["doctor", "The daemon has used most of its limit of open files."],
  may_not_vacuum: ["doctor", "The role of `outbox.url` may not run `VACUUM`, which erasing deletions need."],
  none: ["doctor", "There is nothing to check, such as no webhook in the config."],
  outbox_differs: ["doctor", "The daemon uses another outbox than the config names."],
  outbox_gone: ["both", "The outbox was removed, replaced or cut short under the daemon."],
  outbox_is_database: ["doctor", "A check of files and disks does not apply to a database."],
  rate_limited: ["status", "A source sends more than its `rate`."],
  readable_by_all: ["doctor", "Every user of the machine can read a file with secrets or personal data."],
  restart_needed: ["both", "Changed keys take effect at the next start."],
  schema_older: ["doctor", "The next start upgrades the outbox."],
  source_full: ["status", "Too many events of a source are waiting for delivery."],
  store_crowded: ["both", "The outbox is nearly full."],
  store_damaged: ["doctor", "The outbox is damaged."],
  store_failed: ["both", "The outbox cannot be written."],
  store_full: ["both", "Calls are refused, because the outbox or its disk is full."],
  store_missing: ["doctor", "There is no outbox yet."],
  store_unknown: ["doctor", "The file is not an outbox of Fairlead."],
  unchecked: ["doctor", "The outbox is large, and was not checked for damage: `fairlead doctor --full` does that."],
  unseen: ["doctor", "It could not be checked from here."],
  unserved: ["status", "Deliveries wait for a destination that is removed or disabled."],
  version_differs: ["doctor", "The running daemon is of another version than this command."],
  webhook_down: ["status", "A webhook does not answer, and is only probed."],
  webhook_failing: ["status", "Nothing has succeeded at a webhook for a while."],
  webhook_offline: ["status", "This machine has no network."],
  webhook_slowed: ["status", "A webhook refuses everything, and gets a few requests a second."],
  webhook_unreachable: ["doctor", "A webhook cannot be reached."],
  webhook_untrusted: ["doctor", "The certificate of a webhook is refused."],
  writable_by_all: ["doctor", "Every user of the machine can change a file with secrets or personal data."],
};

/** The text of docs/reference/codes.md. */
export function codesPage(): string {
  return page(
    "packaging/reference/codes.ts and src/model/fault.ts",
    "# Codes",
    contents(["Calls", "The operator's API", "Commands", "Outboxes", "Problems"]),
    prose(`Every refusal has a code. Codes are stable, so that programs can match them; the words of messages are not. A refusal
      over HTTP is \`{"success": false, "code": "…", "message": "…", "error": "…"}\`, where \`error\` repeats the message. Retry
      after 408, 429 and 5xx, and wait as long as \`Retry-After\` says. Everything else is final.`),
    "## Calls",
    prose(
      "What a call or a batch to [the HTTP API](http-api.md) can be refused with. `fairlead rejected` shows the last refusals.",
    ),
    faultTable({ ...OF_CALLS, forbidden_origin: FORBIDDEN_ORIGIN.calls }),
    "## The operator's API",
    prose(`[The operator's API](operator-api.md) refuses with the codes for bodies, JSON and the store above, and with these.
      Commands that ask the daemon pass them on.`),
    faultTable({ ...OF_OPERATORS, forbidden_origin: FORBIDDEN_ORIGIN.operators }),
    "## Commands",
    prose("A command with `--json` has a code of the daemon, or one of these, in [its line of JSON](cli.md#json)."),
    table(
      ["code", "exit code", "what it means"],
      Object.entries(OF_COMMANDS).map(([name, cells]) => [code(name), ...cells]),
    ),
    "## Outboxes",
    prose(
      "Why `fairlead serve`, `copy-outbox` or `migrate` cannot use an outbox. Exit code 78 keeps systemd from restarting the daemon.",
    ),
    table(
      ["code", "exit code", "what it means", "what to do"],
      Object.entries(OF_OUTBOXES).map(([name, cells]) => [code(name), ...cells]),
    ),
    "## Problems",
    prose(`[\`fairlead status\`](../operate/status.md), [\`fairlead doctor\`](../operate/doctor.md) and the dashboard name each problem with
      what to do. With \`--json\`, each has one of these codes. The doctor's warnings about PostgreSQL are
      [on a page of their own](../operate/postgres.md#what-the-start-checks).`),
    table(
      ["code", "found by", "what it means"],
      Object.entries(PROBLEMS).map(([name, cells]) => [code(name), ...cells]),
    ),
  );
}

/** In the order of FAULT_STATUS. */
function faultTable(meanings: Partial<Readonly<Record<FaultCode, Meaning>>>): string {
  const rows = Object.entries(FAULT_STATUS).flatMap(([name, status]) => {
    const meaning = meanings[name as FaultCode];
    return meaning ? [[code(name), String(status), ...meaning]] : [];
  });
  return table(["code", "status", "what it means", "what to do"], rows);
}
