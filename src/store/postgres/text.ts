/** Prefix of texts that are stored as JSON. */
const AS_JSON = "\u0001json:";

/** A text in a form that PostgreSQL stores without loss: NUL and lone surrogates, which it cannot have, are escaped. */
export function toStored(text: string): string {
  const fits = text.isWellFormed() && !text.includes("\0") && !text.startsWith(AS_JSON);
  return fits ? text : AS_JSON + JSON.stringify(text);
}

export function fromStored(stored: string): string {
  return stored.startsWith(AS_JSON) ? JSON.parse(stored.slice(AS_JSON.length)) : stored;
}
