/** Reads a number from the command line. Throws if it is none. */
export function readWhole(name: string, text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new Error(`--${name} must be a whole number above 0 (got "${text}")`);
}
