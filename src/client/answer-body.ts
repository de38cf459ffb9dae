import type { FetchResponse } from "./world.ts";

/** More than any answer of Fairlead's to a batch has. */
const MOST_BYTES = 4 * 1024 * 1024;
const TOO_LARGE = "the answer is larger than 4 MB";

/**
 * The body of an answer as text. What a 2xx says must be read, as it may reject calls: rejects if that cannot be done, or
 * if there is no end of it. Of another the status is enough, and what could be read.
 */
export async function readBody(response: FetchResponse): Promise<string> {
  const taken = response.status >= 200 && response.status < 300;
  try {
    const { text, whole } = await read(response);
    if (taken && !whole) throw new RangeError(TOO_LARGE);
    return text;
  } catch (cause) {
    if (taken) throw cause;
    return "";
  }
}

type Read = { readonly text: string; readonly whole: boolean };
type Stream = NonNullable<FetchResponse["body"]>;

function read(response: FetchResponse): Promise<Read> {
  const { body } = response;
  // A fetch of somebody's own may have no more than the text.
  return body && !isShort(response) ? readStream(body) : readText(response);
}

async function readText(response: FetchResponse): Promise<Read> {
  const text: unknown = await response.text();
  if (typeof text !== "string") throw new TypeError("the answer has no text");
  return { text, whole: true };
}

/** Reading at one go is faster. Of what is compressed, nobody knows how long it gets. */
function isShort({ headers }: FetchResponse): boolean {
  const length = headers.get("content-length");
  return length !== null && Number(length) <= MOST_BYTES && headers.get("content-encoding") === null;
}

async function readStream(body: Stream): Promise<Read> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let left = MOST_BYTES;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { text: text + decoder.decode(), whole: true };
    if (!value) continue;
    text += decoder.decode(value.subarray(0, left), { stream: true });
    left -= value.length;
    if (left >= 0) continue;
    // Ends the connection as well. What it says to that is of no interest.
    reader.cancel().then(undefined, () => {});
    return { text, whole: false };
  }
}
