/** Marks an unreachable place. A new kind added to a union then fails to compile wherever it must be decided. */
export function never(value: never): never {
  throw new Error(`unexpected value ${JSON.stringify(value)}: this is a bug in Fairlead, please report it`);
}
