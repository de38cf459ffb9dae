/**
 * The known word that was probably meant, or null. Allows one mistake in a short word, and one for every three letters in
 * a long one. Case does not count.
 */
export function suggest(written: string, known: readonly string[]): string | null {
  if (known.includes(written)) return written;
  const limit = Math.max(1, Math.floor(written.length / 3));
  let near: string | null = null;
  let least = limit + 1;
  for (const word of known) {
    // A far longer or shorter word cannot be near. This also keeps a huge key from taking time.
    if (Math.abs(word.length - written.length) > limit) continue;
    const [from, to] = [written.toLowerCase(), word.toLowerCase()];
    // Far quicker than the distance, and enough for most words: a reload asks about each key of the file.
    if (foreignLetters(from, to) > limit) continue;
    const distance = editDistance(from, to);
    if (distance < least) [near, least] = [word, distance];
  }
  return near;
}

/** How many letters of one word the other does not have: the distance is at least this. */
function foreignLetters(from: string, to: string): number {
  let count = 0;
  for (const letter of from) if (!to.includes(letter)) count++;
  return count;
}

/** The number of letters to add, remove, change, or swap with their neighbour to turn one word into the other. */
export function editDistance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const changed = (last[column - 1] ?? 0) + (from[row - 1] === to[column - 1] ? 0 : 1);
      const swapped = isSwap(from, to, { row, column }) ? (beforeLast[column - 2] ?? 0) + 1 : Infinity;
      current.push(Math.min(changed, swapped, (last[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    [beforeLast, last] = [last, current];
  }
  return last[to.length] ?? 0;
}

function isSwap(from: string, to: string, { row, column }: { row: number; column: number }): boolean {
  return row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
}
