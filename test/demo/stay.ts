import { type Place, WRITE_KEY } from "./place.ts";
import { say, styled } from "./show.ts";
import { BINARY, type Daemon, type Receiver } from "./team.ts";

export type StayOptions = {
  readonly place: Place;
  readonly receiver: Receiver;
  readonly daemon: Daemon;
  readonly interrupted: Promise<void>;
};

/** Says what to try, and stays until Ctrl-C. Answers the exit code. */
export async function stay(options: StayOptions): Promise<number> {
  for (const { what, commands } of ideas(options)) {
    say(what);
    for (const command of commands) say(`  ${styled("cyan", command)}`);
    say();
  }
  say("New webhooks and the daemon's log appear here. Ctrl-C stops both programs.\n");
  let isOver = false;
  tellEnd("daemon", options.daemon, () => isOver);
  tellEnd("receiver", options.receiver, () => isOver);
  await options.interrupted;
  isOver = true;
  return 0;
}

type Idea = { readonly what: string; readonly commands: readonly string[] };

function ideas({ place, receiver, daemon }: StayOptions): readonly Idea[] {
  const again = `${BINARY} serve --config ${place.config}`;
  return [
    {
      what: "Now try, in another terminal and this folder, to send a call:",
      commands: [`curl -u ${WRITE_KEY}: ${daemon.ingest}/v1/track -d '{"userId":"user-42","event":"Hello"}'`],
    },
    {
      what: "Look at what Fairlead has counted:",
      commands: [`curl -s ${daemon.admin}/metrics | grep -v '^#'`],
    },
    {
      what: "Stop the receiver, send a call, see it retried, and be a receiver again, which fails twice more:",
      commands: [
        `kill ${receiver.process.pid}`,
        `${BINARY} listen --listen ${new URL(receiver.url).host} --secret-file ${place.secretFile} --fail-first 2`,
      ],
    },
    {
      what: `Change something in ${place.config}, have it checked, and have it read:`,
      commands: [`${BINARY} check --config ${place.config} && kill -HUP ${daemon.process.pid}`],
    },
    {
      what: "Kill the daemon while calls wait, and start it again: what was acknowledged is delivered:",
      commands: [`kill -9 ${daemon.process.pid}`, again],
    },
  ];
}

type Member = Pick<Daemon | Receiver, "process">;

function tellEnd(name: string, { process }: Member, isOver: () => boolean): void {
  void process.exit.then(({ code, signal }) => {
    if (!isOver()) say(styled("yellow", `The ${name} has ended (${signal ?? `exit code ${code}`}).`));
  });
}
