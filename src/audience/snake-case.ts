/**
 * The trait that receivers get for a name (SPEC.md 6): letters of any script in lower case, with the marks that belong to them,
 * digits, and `_` between words. Words end at whatever is neither, where a capital follows a small letter or a digit, and
 * before the last of several capitals if a small letter follows: `HTTPServer v2` is `http_server_v2`. Characters that only
 * look different (full width, ligatures) are taken for what they are (NFKC). A name without any letter or digit is written as
 * the numbers of its characters: `★` is `u2605`. Never empty; the same again for what it has made.
 */
export function snakeCase(name: string): string {
  const words = settle(name);
  return words === "" ? codePoints(name) : words;
}

/** Some letters become others only once they are in lower case: again, until nothing changes. */
function settle(text: string): string {
  const next = pass(text);
  return next === text ? text : settle(next);
}

function pass(text: string): string {
  return (
    text
      .normalize("NFKC")
      .replace(/([\p{Ll}\p{N}]\p{M}*)(?=\p{Lu})/gu, "$1_")
      .replace(/(\p{Lu}\p{M}*)(?=\p{Lu}\p{M}*\p{Ll})/gu, "$1_")
      .toLowerCase()
      .normalize("NFKC")
      .replace(/[^\p{L}\p{N}\p{M}]+/gu, "_")
      // A mark that follows no letter belongs to nothing.
      .replace(/(^|_)\p{M}+/gu, "$1")
      .replace(/_+/g, "_")
      .replace(/^_|_$/g, "")
  );
}

function codePoints(name: string): string {
  const codes = [...name].map((character) => `u${character.codePointAt(0)?.toString(16)}`);
  return codes.length === 0 ? "unnamed" : codes.join("_");
}
