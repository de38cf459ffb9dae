/** A Fault, as the daemon answers with it. */
export type Refusal = { readonly code: string; readonly message: string };

/** What an answer says as JSON; null if it is none. */
export function parseSaid(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

export function isRefusal(said: unknown): said is Refusal {
  if (typeof said !== "object" || said === null || !("code" in said) || !("message" in said)) return false;
  return typeof said.code === "string" && typeof said.message === "string";
}

/** Whether an error of the network means that nothing listens at the address. */
export function isNobodyThere(code: string | null): boolean {
  return code === "ECONNREFUSED" || code === "ENOENT";
}
