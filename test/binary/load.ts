import { postCall } from "./world.ts";

/** So many clients send at once. */
const CLIENTS = 64;

export type Load = {
  /** The messageIds that were answered with 200, each in an answer of its own. */
  readonly acknowledged: ReadonlySet<string>;
  /** Resolves when so many were acknowledged. */
  reached(count: number): Promise<void>;
  /** Resolves when no client has anything more to send. */
  readonly done: Promise<void>;
};

export type LoadOptions = {
  readonly calls: number;
  /** Where the daemon is, as soon as it is there; null: it will not come back, and the clients go home. */
  readonly ingest: () => Promise<string | null>;
};

/** Sends calls from many clients at once, each with a messageId of its own, and again until it is acknowledged. */
export function startLoad({ calls, ingest }: LoadOptions): Load {
  const acknowledged = new Set<string>();
  const waiting = new Map<number, () => void>();
  const ids = Array.from({ length: calls }, (_, index) => `m-${index}`).values();
  return {
    acknowledged,
    reached: (count) => new Promise((resolve) => waiting.set(count, resolve)),
    done: Promise.all(Array.from({ length: CLIENTS }, sendSome)).then(() => {}),
  };

  async function sendSome(): Promise<void> {
    for (const id of ids) {
      if (!(await sendUntilTaken(id))) return;
      acknowledged.add(id);
      waiting.get(acknowledged.size)?.();
    }
  }

  async function sendUntilTaken(id: string): Promise<boolean> {
    for (;;) {
      const address = await ingest();
      if (address === null) return false;
      if (await send(address, id)) return true;
    }
  }
}

/** Whether it was acknowledged. A daemon that is killed breaks the connection; one that stops answers 503. */
async function send(address: string, messageId: string): Promise<boolean> {
  try {
    const response = await postCall(`${address}/v1/track`, { userId: "u1", event: "Load", messageId });
    await response.text();
    return response.status === 200;
  } catch {
    return false;
  }
}
