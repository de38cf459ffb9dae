import { join } from "node:path";
import { ROOT } from "../binary/binary.ts";
import { type Exit, type Process, type StartOptions, start } from "../binary/process.ts";
import type { Place } from "./place.ts";
import { idOf, isWebhook, type Webhook } from "./webhook.ts";

/** As a person in the checkout would write it. */
export const BINARY = "dist/fairlead";

/** In milliseconds. A receiver has five seconds to answer the daemon, so that then it has ended by itself. */
const STOP_WITHIN = 8_000;

/** The two programs of a demo. */
export type Team = {
  /** Starts `fairlead listen`. */
  startReceiver(port: number, onWebhook: (webhook: Webhook) => void): Promise<Receiver>;
  /** Starts `fairlead serve`. `onLog` gets each line of its log. */
  startDaemon(onLog: (line: string) => void): Promise<Daemon>;
  /** Ends what was started, the daemon first. May be called twice. Answers how each has ended. */
  stop(): Promise<readonly Exit[]>;
};

export type Receiver = {
  readonly process: Process;
  readonly url: string;
  readonly webhooks: readonly Webhook[];
  /** Resolves when each of these messageIds has come, or when so many milliseconds are over. */
  have(messageIds: Iterable<string>, within: number): Promise<void>;
};

export type Daemon = { readonly process: Process; readonly ingest: string; readonly admin: string };

export function createTeam({ config, secretFile }: Place): Team {
  const started: Process[] = [];
  return {
    async startReceiver(port, onWebhook) {
      const collected = collect(onWebhook);
      const args = ["listen", "--json", "--listen", `127.0.0.1:${port}`, "--secret-file", secretFile];
      const process = startOwn(args, collected.onLine);
      const line = await firstLine(process, /^listening at /, "receiver");
      return { process, url: /http:[^,]+/.exec(line)?.[0] ?? "", ...collected };
    },
    async startDaemon(onLog) {
      const process = startOwn(["serve", "--config", config], (line, stream) => {
        if (stream === "err") onLog(line);
      });
      const admin = await firstLine(process, /^admin /, "daemon");
      return { process, ingest: addressIn(await process.line(/^ingest /)), admin: addressIn(admin) };
    },
    async stop() {
      const exits: Exit[] = [];
      for (const process of started.toReversed()) exits.push(await stop(process));
      return exits;
    },
  };

  /** In a process group of its own: on Ctrl-C it is we who stop it, in order. */
  function startOwn(args: readonly string[], onLine: StartOptions["onLine"] & {}): Process {
    const process = start(join(ROOT, BINARY), args, { folder: ROOT, detached: true, onLine });
    started.push(process);
    return process;
  }
}

type Collected = Pick<Receiver, "webhooks" | "have"> & { onLine(line: string): void };

function collect(onWebhook: (webhook: Webhook) => void): Collected {
  const webhooks: Webhook[] = [];
  let look = (): void => {};
  return {
    webhooks,
    onLine(line) {
      if (!isWebhook(line)) return;
      const webhook: Webhook = JSON.parse(line);
      webhooks.push(webhook);
      onWebhook(webhook);
      look();
    },
    have: (messageIds, within) =>
      new Promise((resolve) => {
        const timer = setTimeout(resolve, within);
        look = () => {
          const come = new Set(webhooks.map(idOf));
          if (![...messageIds].every((id) => come.has(id))) return;
          clearTimeout(timer);
          resolve();
        };
        look();
      }),
  };
}

function addressIn(line: string): string {
  return line.split(/ +/)[1] ?? "";
}

function firstLine(process: Process, pattern: RegExp, name: string): Promise<string> {
  return process.line(pattern).catch(({ message }: Error) => {
    throw new Error(`the ${name} has not started:\n  ${process.err.join("\n  ") || message}`);
  });
}

async function stop(process: Process): Promise<Exit> {
  process.kill("SIGTERM");
  const timer = setTimeout(() => process.kill("SIGKILL"), STOP_WITHIN);
  const exit = await process.exit;
  clearTimeout(timer);
  return exit;
}
