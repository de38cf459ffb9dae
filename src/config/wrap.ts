/** Breaks the comments among these lines that are longer than so many columns. What is in backquotes stays together. */
export function wrapComments(lines: readonly string[], columns: number): readonly string[] {
  return lines.flatMap((line) => {
    const [, prefix, text] = /^([ #]*# )(.*)$/.exec(line) ?? [];
    if (line.length <= columns || prefix === undefined || text === undefined) return line;
    return fill(text, columns - prefix.length).map((part) => prefix + part);
  });
}

/** Breaks text into lines of at most so many columns. What is in backquotes stays together. */
export function fill(text: string, columns: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.match(/(?:`[^`]*`|\S)+/g) ?? []) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= columns) lines.splice(-1, 1, `${last} ${word}`);
    else lines.push(word);
  }
  return lines;
}
