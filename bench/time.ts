/** Milliseconds since 1970, with fractions and never stepping back, so that processes of one machine can be compared. */
export function now(): number {
  return performance.timeOrigin + performance.now();
}
