/** The rule that keeps an event from a destination. Stored with the event, so that it can be explained. */
export type SkipRule =
  | "destination_disabled"
  | "source_not_selected"
  | "type_not_selected"
  | "integration_disabled"
  | "all_integrations_disabled"
  | "historical";

/** What routing decides about one event and one destination. */
export type Verdict =
  | { readonly kind: "deliver"; readonly destination: string }
  | { readonly kind: "skip"; readonly destination: string; readonly rule: SkipRule };

export type Skip = { readonly destination: string; readonly rule: SkipRule };
