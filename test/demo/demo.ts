/**
 * `make demo` and, with --stay, `make run`: starts Fairlead and a receiver, sends one call of each kind with a real
 * client, and shows the webhooks that come of it. The demo checks them and ends; the run stays until Ctrl-C.
 */
import { rmSync } from "node:fs";
import process from "node:process";
import { KINDS, sendCalls } from "./calls.ts";
import { makePlace, type Place, WRITE_KEY, writeConfig } from "./place.ts";
import { say, showWebhook, styled } from "./show.ts";
import { stay } from "./stay.ts";
import { createTeam, type Team } from "./team.ts";
import { findFaults } from "./webhook.ts";

/** How long the webhooks may take, in milliseconds. */
const ARRIVE_WITHIN = 6_000;
const INTERRUPTED = 130;
/** Those that the documentation names, or any that are free. */
const USUAL_PORTS = { receiver: 9000, ingest: 8080, admin: 8081 };
const FREE_PORTS = { receiver: 0, ingest: 0, admin: 0 };
const RUN_ADVICE =
  "If another `make run` is at work, stop that one. If .run/config.yaml has been changed and does not work any more,\n" +
  "`rm -r .run` lets you start afresh. `make demo` takes ports that are free.";

process.exit(await main(process.argv.includes("--stay")));

/** Answers the exit code. Nothing that was started is left behind. */
async function main(stays: boolean): Promise<number> {
  const interrupted = onInterrupt();
  const place = makePlace(stays);
  const team = createTeam(place);
  const log: string[] = [];
  try {
    const code = await Promise.race([
      play({ stays, place, team, log, interrupted }),
      interrupted.then(() => (stays ? 0 : INTERRUPTED)),
    ]);
    await team.stop();
    if (!stays) rmSync(place.folder, { recursive: true });
    return code;
  } catch (error) {
    await team.stop();
    complain(error, { stays, place, log });
    return 1;
  }
}

/** Resolves at the first Ctrl-C, or when the terminal is closed. The second does not wait. */
function onInterrupt(): Promise<void> {
  return new Promise((resolve) => {
    let times = 0;
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
      process.on(signal, () => {
        times += 1;
        if (times > 1) process.exit(INTERRUPTED);
        resolve();
      });
    }
  });
}

type Play = {
  readonly stays: boolean;
  readonly place: Place;
  readonly team: Team;
  /** What the daemon says, until somebody wants to see it. */
  readonly log: string[];
  readonly interrupted: Promise<void>;
};

/** Answers the exit code. Rejects when something is not as it should be. */
async function play({ stays, place, team, log, interrupted }: Play): Promise<number> {
  const ports = stays ? USUAL_PORTS : FREE_PORTS;
  let onLog = (line: string): void => void log.push(line);
  const receiver = await team.startReceiver(ports.receiver, showWebhook);
  const isKept = !writeConfig(place, receiver.url, ports);
  const daemon = await team.startDaemon((line) => onLog(line));

  say(`Fairlead takes calls at ${daemon.ingest}, and operators at ${daemon.admin}.`);
  say(
    `A receiver is at ${receiver.url}. Config and outbox are in ${place.folder}${isKept ? ", as they were left" : ""}.`,
  );
  say(`\nSending ${KINDS.join(", ")} with @segment/analytics-node:\n`);
  const sent = await sendCalls(daemon.ingest, WRITE_KEY);
  await receiver.have(sent.values(), ARRIVE_WITHIN);

  if (stays) {
    for (const fault of findFaults(receiver.webhooks, sent, place.secret)) say(styled("yellow", `✗ ${fault}`));
    onLog = (line) => say(styled("dim", line));
    return stay({ place, receiver, daemon, interrupted });
  }
  // Once the daemon has ended, nothing can come a second time.
  const exits = await team.stop();
  const faults = [
    ...findFaults(receiver.webhooks, sent, place.secret),
    ...exits.filter(({ code }) => code !== 0).map((exit) => `a program has ended with ${exit.code ?? exit.signal}`),
  ];
  if (faults.length > 0) throw new Error(faults.join("\n"));
  say("Each of the six has come once, with a good signature, its fields in order, and its headers.");
  return 0;
}

type Failed = Pick<Play, "stays" | "place" | "log">;

function complain(error: unknown, { stays, place, log }: Failed): void {
  const { message, cause } = error instanceof Error ? error : new Error(String(error));
  const lines = message.split("\n").map((line) => styled("red", line));
  if (cause instanceof Error) lines.push(`  because: ${cause.message}`);
  const said = log.filter((line) => !message.includes(line)).slice(-20);
  if (said.length > 0) lines.push("", "What the daemon has said:", ...said.map((line) => `  ${line}`));
  process.stderr.write(
    `\n${lines.join("\n")}\n\n${stays ? RUN_ADVICE : `Config and outbox are in ${place.folder}.`}\n`,
  );
}
