/**
 * The rules that keep an event from a destination, each with its reason as "it does not get the call, because …" goes on. A
 * rule is stored with the event, so that it can be explained. Imports nothing: the dashboard has it as well.
 */
export const SKIP_RULES = {
  destination_disabled: "it was disabled at that time",
  source_not_selected: "its `sources` do not include that one",
  type_not_selected: "its `types` do not include that type",
  integration_disabled: "the call's `integrations` disable it",
  all_integrations_disabled: "the call's `integrations` disable All and do not name it",
  historical: "the call was more than a day old when it arrived, and its `historical` is skip",
  event_not_selected: "its `events` do not match the name of this call",
  condition_not_met: "the call does not meet its `where`",
  not_sampled: "its `sample` leaves out this user",
  test_of_another: "it is a test of another destination",
} as const satisfies Readonly<Record<string, string>>;

export type SkipRule = keyof typeof SKIP_RULES;

export const SKIP_RULE_NAMES = Object.keys(SKIP_RULES) as readonly SkipRule[];

/** The reason in words. A daemon of another version may have other rules: then the rule is all that is known. */
export function reasonOf(rule: string): string {
  return Object.hasOwn(SKIP_RULES, rule) ? SKIP_RULES[rule as SkipRule] : rule;
}
