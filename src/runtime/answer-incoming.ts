import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { peerAddress } from "./peer-address.ts";
import { badRequest, hasSecondHost } from "./second-host.ts";
import type { Answering } from "./serve.ts";

export type Exchange = { readonly incoming: IncomingMessage; readonly outgoing: ServerResponse };

/** Answers a request of node's HTTP server, which knows no `Request` and no `Response`. Never rejects. */
export async function answerIncoming({ incoming, outgoing }: Exchange, { handle, failed }: Answering): Promise<void> {
  try {
    const request = toRequest(incoming);
    const peer = { address: peerAddress(incoming.socket.remoteAddress), overSocket: false };
    await send(outgoing, request ? await handle(request, peer) : badRequest());
  } catch (error) {
    await send(outgoing, failed(error));
  }
}

/** Null for what the standard denies a `Request`, like the method TRACE, and for one with two hosts. */
function toRequest(incoming: IncomingMessage): Request | null {
  const { method = "GET", url = "/", headers } = incoming;
  const all = headersOf(incoming);
  if (hasSecondHost(all)) return null;
  const host = headers.host !== undefined && URL.canParse(`https://${headers.host}`) ? headers.host : "localhost";
  const body = method === "GET" || method === "HEAD" ? null : Readable.toWeb(incoming);
  try {
    const init = { method, headers: all, body, duplex: "half" };
    return new Request(url.startsWith("/") ? `https://${host}${url}` : url, init as RequestInit);
  } catch {
    return null;
  }
}

function headersOf({ rawHeaders }: IncomingMessage): Headers {
  const headers = new Headers();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) headers.append(rawHeaders[at] ?? "", rawHeaders[at + 1] ?? "");
  return headers;
}

/** Sends it in one piece, so that it gets a Content-Length: answers are small. */
async function send(outgoing: ServerResponse, response: Response): Promise<void> {
  const body = Buffer.from(await response.arrayBuffer());
  outgoing.statusCode = response.status;
  for (const [name, value] of response.headers) outgoing.appendHeader(name, value);
  outgoing.end(body);
}
