import { connect as connectPlain, type Socket } from "node:net";
import type { WebhookTls } from "../model/destination.ts";
import { type At, formatDuration, type Ms } from "../model/units.ts";
import { codeOf, describeUntrusted, proxyFor, replyToError } from "./post-reply.ts";

/** How far one gets to a webhook without sending it anything. */
export type Reached =
  | {
      readonly kind: "reached";
      readonly ms: Ms;
      /** When its certificate ends; null over plain HTTP. */
      readonly until: At | null;
    }
  /** Its certificate would be refused, and why. */
  | { readonly kind: "untrusted"; readonly reason: string; readonly until: At | null }
  /** A proxy stands between, and answers: who is behind it sees only real requests. */
  | { readonly kind: "behind proxy"; readonly proxy: string }
  | { readonly kind: "failed"; readonly reason: string };

export type Target = { readonly url: string; readonly tls: WebhookTls | null; readonly timeout: Ms };

/**
 * Connects as a delivery would, up to the end of the TLS handshake, and hangs up: the receiver gets no request, and no event.
 * Never rejects.
 */
export async function reach({ url, tls, timeout }: Target, now: () => At): Promise<Reached> {
  const proxy = proxyFor(url);
  const { protocol, hostname, port } = new URL(proxy === null ? url : `http://${proxy}`);
  const isTls = proxy === null && protocol === "https:";
  const place = { host: hostname.replace(/^\[|\]$/g, ""), port: Number(port || (isTls ? 443 : 80)) };
  const began = now();
  try {
    if (proxy !== null) {
      (await open(connectPlain(place), "connect", timeout)).destroy();
      return { kind: "behind proxy", proxy };
    }
    if (!isTls) {
      (await open(connectPlain(place), "connect", timeout)).destroy();
      return { kind: "reached", ms: now() - began, until: null };
    }
    return await shakeHands(place, { url, tls, timeout, elapsed: () => now() - began });
  } catch (error) {
    const reply = replyToError(error, NEVER, { url, tls, proxy });
    return { kind: "failed", reason: "message" in reply ? reply.message : String(error) };
  }
}

const NEVER = new AbortController().signal;

type Place = { readonly host: string; readonly port: number };

/** Also one that is not to be trusted is looked at to its end: nothing is sent, and its certificate says more than an error. */
async function shakeHands(place: Place, { url, tls, timeout, elapsed }: Target & { elapsed(): Ms }): Promise<Reached> {
  // Imported late, as in request.ts.
  const { connect } = await import("node:tls");
  const own = tls?.cert && tls.key ? { cert: tls.cert, key: tls.key.reveal() } : {};
  const authorities = tls?.ca ? { ca: tls.ca } : {};
  const socket = connect({ ...place, ...own, ...authorities, ...nameFor(place), rejectUnauthorized: false });
  await open(socket, "secureConnect", timeout);
  const { valid_to } = socket.getPeerCertificate();
  const [end, refused] = [Date.parse(valid_to), socket.authorized ? null : socket.authorizationError];
  socket.destroy();
  const until = Number.isNaN(end) ? null : end;
  if (refused === null) return { kind: "reached", ms: elapsed(), until };
  const code = refused instanceof Error ? codeOf(refused) : String(refused);
  return { kind: "untrusted", reason: describeUntrusted(code, { url, tls, proxy: null }), until };
}

/** An address is no name for a server. */
function nameFor({ host }: Place): { readonly servername?: string } {
  return /^[\d.]+$|:/.test(host) ? {} : { servername: host };
}

function open<S extends Socket>(socket: S, event: "connect" | "secureConnect", timeout: Ms): Promise<S> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => {
      socket.destroy();
      const words = `no ${event === "connect" ? "connection" : "TLS handshake"} within ${formatDuration(timeout)}`;
      reject(Object.assign(new Error(words), { code: words }));
    }, timeout);
    // Stays: an error of the hanging up would have no listener.
    socket.on("error", (error) => {
      clearTimeout(late);
      reject(error);
    });
    socket.once(event, () => {
      clearTimeout(late);
      resolve(socket);
    });
  });
}
