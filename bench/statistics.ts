/** The middle one; of an even number, the mean of the two in the middle. */
export function median(numbers: readonly number[]): number {
  return (
    (percentile(numbers, 0.5) +
      percentile(
        numbers.map((number) => -number),
        0.5,
      ) *
        -1) /
    2
  );
}

/** The smallest number that is not below so large a part (0 to 1) of them. */
export function percentile(numbers: readonly number[], part: number): number {
  if (numbers.length === 0) throw new Error("no numbers to take a percentile of");
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? Number.NaN;
}
