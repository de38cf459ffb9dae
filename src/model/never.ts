/**
 * Marks a place that no value can reach. A new kind added to a union then fails to compile in each place that must
 * decide about it.
 */
export function never(value: never): never {
  throw new Error(`unexpected value ${JSON.stringify(value)}: this is a bug in Fairlead, please report it`);
}
