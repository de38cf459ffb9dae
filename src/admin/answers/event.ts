import * as v from "valibot";
import { listedEntries, troubledWebhooks } from "./delivery.ts";
import { about, count, named, TYPES, text, time } from "./fields.ts";
import { rejection } from "./rejection.ts";

const skip = v.strictObject({
  destination: v.string(),
  rule: v.picklist([
    ...(["destination_disabled", "source_not_selected", "type_not_selected"] as const),
    ...(["integration_disabled", "all_integrations_disabled", "historical"] as const),
  ]),
});

const served = about("Whether anybody delivers to it now.", v.picklist(["yes", "paused", "disabled", "removed"]));

export const event = named(
  "Event",
  v.strictObject({
    event: about("Its number.", count),
    source: v.string(),
    type: v.picklist(TYPES),
    messageId: v.string(),
    userId: text,
    acceptedAt: time,
    skipped: about("The destinations that do not get it, each with the rule that decided.", v.array(skip)),
    deliveries: v.array(named("EventDelivery", v.strictObject({ ...listedEntries, served }))),
    forgotten: about(
      "Destinations of which is not known any more what became of it, other than that the first attempt did not deliver it.",
      v.array(v.string()),
    ),
    whole: about("False if the event itself is gone: others may have had it delivered at once.", v.boolean()),
  }),
);

export const trail = about(
  "What is known of the calls with this messageId; all lists are empty if that is nothing.",
  v.strictObject({
    messageId: v.string(),
    rejected: about("Those of the last refusals.", v.array(rejection)),
    rejectedSince: about("Since when refusals are remembered.", time),
    events: about("What was taken.", v.array(event)),
    seen: about(
      "When it came from which source in the last 24 hours, whether the event is kept still or not.",
      v.array(v.strictObject({ source: v.string(), at: time })),
    ),
    troubled: troubledWebhooks,
    complete: about("False if nothing was found, and not all that is kept was looked through.", v.boolean()),
  }),
);
