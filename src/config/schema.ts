/**
 * Every key of the config file: its type, its default, what it is for and when to change it, a file for each section.
 * The checks, the known keys and the hints for misspelt ones come from here, and so do config.example.yaml and the
 * JSON Schema.
 */
import * as v from "valibot";
import { ruled } from "./fields.ts";
import { key } from "./manual.ts";
import { admin } from "./sections/admin.ts";
import { delivery } from "./sections/delivery.ts";
import { destination } from "./sections/destination.ts";
import { ingest } from "./sections/ingest.ts";
import { log } from "./sections/log.ts";
import { outbox } from "./sections/outbox.ts";
import { source } from "./sections/source.ts";
import { NAME_PATTERN, NOT_A_NAME, nameFault } from "./webhook-rules.ts";

export { ADMIN_LISTEN } from "./sections/admin.ts";
export { INGEST_LISTEN, MAX_BATCH, MAX_CALL } from "./sections/ingest.ts";

/** The whole file. */
export const configSchema = v.strictObject({
  ingest: key(v.optional(ingest, {}), {
    description: "The API that takes calls from programs and pages.",
  }),
  admin: key(v.optional(admin, {}), {
    description: "The API for operators: health, metrics and what became of each event.",
    more: "Keep it from strangers.",
  }),
  outbox: key(v.optional(outbox, {}), {
    description: "The store that holds events until they are delivered.",
  }),
  delivery: key(v.optional(delivery, {}), {
    description: "How events are sent.",
  }),
  log: key(v.optional(log, {}), {
    description: "What the daemon writes about itself.",
  }),
  sources: key(v.optional(named(source), {}), {
    description: "What sends calls, by a name of your choice: 1 to 64 letters, digits, hyphens, underscores and dots.",
    name: "website",
  }),
  destinations: key(v.optional(named(destination), {}), {
    description: "What gets events, by a name of your choice.",
    more: "A call's `integrations` can switch a destination off by that name.",
    name: "crm",
  }),
});

/** What a file says once it was checked and its defaults were filled in. */
export type Checked = v.InferOutput<typeof configSchema>;

/** A map whose keys are names that the operator chooses. */
function named<Entry extends v.GenericSchema>(entry: Entry) {
  return v.record(ruled(nameFault, { pattern: NAME_PATTERN, must: NOT_A_NAME }), entry);
}
