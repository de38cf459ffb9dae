import { connect as connectPlain, isIP, type Socket } from "node:net";
import type { WebhookTls } from "../model/config.ts";
import { type At, formatDuration, type Ms } from "../model/units.ts";
import { codeOf, describeUntrusted, proxyFor, replyToError } from "./post-reply.ts";

/** How far a connection to a webhook gets without sending a request. */
export type Reached =
  | {
      readonly kind: "reached";
      readonly ms: Ms;
      /** When its certificate ends; null over plain HTTP. */
      readonly until: At | null;
    }
  /** Its certificate would be refused, and why. */
  | { readonly kind: "untrusted"; readonly reason: string; readonly until: At | null }
  /** A proxy answers. Only a real request would show what is behind it. */
  | { readonly kind: "behind proxy"; readonly proxy: string }
  | { readonly kind: "failed"; readonly reason: string };

type Target = { readonly url: string; readonly tls: WebhookTls | null; readonly timeout: Ms };

/**
 * Connects as a delivery would, completes the TLS handshake, and closes the connection: the receiver gets no request. Never
 * rejects.
 */
export async function reach(target: Target, now: () => At): Promise<Reached> {
  const { url, tls, timeout } = target;
  const proxy = proxyFor(url);
  const { protocol, hostname, port } = new URL(proxy === null ? url : `http://${proxy}`);
  const isTls = proxy === null && protocol === "https:";
  const place = { host: hostname.replace(/^\[|\]$/g, ""), port: Number(port || (isTls ? 443 : 80)) };
  const began = now();
  try {
    if (isTls) return await shakeHands(place, { ...target, elapsed: () => now() - began });
    (await opened(connectPlain(place), "connect", timeout)).destroy();
    return proxy === null ? { kind: "reached", ms: now() - began, until: null } : { kind: "behind proxy", proxy };
  } catch (error) {
    const reply = replyToError(error, NEVER, { url, tls, proxy });
    return { kind: "failed", reason: "message" in reply ? reply.message : String(error) };
  }
}

const NEVER = new AbortController().signal;

type Place = { readonly host: string; readonly port: number };

/**
 * Completes the handshake even with an untrusted certificate: nothing is sent, and the certificate tells more than an error.
 */
async function shakeHands(place: Place, { url, tls, timeout, elapsed }: Target & { elapsed(): Ms }): Promise<Reached> {
  // Imported late, as in request.ts.
  const { connect } = await import("node:tls");
  const socket = connect({
    ...place,
    ...(tls?.cert && tls.key ? { cert: tls.cert, key: tls.key.reveal() } : {}),
    ...(tls?.ca ? { ca: tls.ca } : {}),
    // An address cannot be the name of a server.
    ...(isIP(place.host) === 0 ? { servername: place.host } : {}),
    rejectUnauthorized: false,
  });
  await opened(socket, "secureConnect", timeout);
  const end = Date.parse(socket.getPeerCertificate().valid_to);
  const refused = socket.authorized ? null : socket.authorizationError;
  socket.destroy();
  const until = Number.isNaN(end) ? null : end;
  if (refused === null) return { kind: "reached", ms: elapsed(), until };
  const code = refused instanceof Error ? codeOf(refused) : String(refused);
  return { kind: "untrusted", reason: describeUntrusted(code, { url, tls, proxy: null }), until };
}

function opened<S extends Socket>(socket: S, event: "connect" | "secureConnect", timeout: Ms): Promise<S> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      socket.destroy();
      const what = event === "connect" ? "connection" : "TLS handshake";
      const code = `no ${what} within ${formatDuration(timeout)}`;
      reject(Object.assign(new Error(code), { code }));
    }, timeout);
    // This listener stays: an error while closing would otherwise have none.
    socket.on("error", (error) => {
      clearTimeout(timer);
      reject(error);
    });
    socket.once(event, () => {
      clearTimeout(timer);
      resolve(socket);
    });
  });
}
