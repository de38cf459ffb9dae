/**
 * Lays JSON out over lines without reading it: numbers keep all their digits. Text that is no JSON stays as it is,
 * except for white space between its parts.
 */
export function laidOut(text: string): string {
  let out = "";
  let depth = 0;
  // Strings as they are, brackets, commas and colons alone, and everything else between them.
  for (const [part] of text.matchAll(/"(?:[^"\\]|\\.)*"?|[{}[\]:,]|[^\s"{}[\]:,]+/gs)) {
    if (part === "{" || part === "[") {
      depth += 1;
      out += `${part}\n${"  ".repeat(depth)}`;
    } else if (part === "}" || part === "]") {
      depth = Math.max(0, depth - 1);
      const isEmpty = /[{[]\s*$/.test(out);
      out = isEmpty ? out.trimEnd() + part : `${out}\n${"  ".repeat(depth)}${part}`;
    } else if (part === ",") out += `,\n${"  ".repeat(depth)}`;
    else out += part === ":" ? ": " : part;
  }
  return out;
}
