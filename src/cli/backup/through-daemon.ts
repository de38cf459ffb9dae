import type { NewFile } from "../../model/new-file.ts";
import { HOUR, MB, type Ms, SECOND } from "../../model/units.ts";
import { createResolve } from "../../runtime/config-files.ts";
import { download } from "../../runtime/request.ts";
import type { Complaint } from "../complain.ts";
import { type Daemon, type DaemonOptions, findDaemon, type Question, readSaid, send } from "../daemon.ts";
import { isStatus, type SaidStatus } from "../status/said.ts";

/** A daemon that answers nothing has to be looked for no longer than this before the file is read. */
const PATIENCE: Ms = 5 * SECOND;
/** For all of the copy. */
const LONGEST: Ms = 12 * HOUR;
/** Bytes that are written before they are waited for, as in every copy. */
const UNFLUSHED = 8 * MB;

/** A daemon whose outbox the next start would not find, and what became of that. */
export type Holder = { readonly daemon: Daemon; readonly gone: NonNullable<SaidStatus["outbox"]["gone"]> };

/** The daemon, if it runs and says that the outbox is gone: then what is at the path is not what it has. */
export async function findHolder(options: DaemonOptions): Promise<Holder | null> {
  const daemon = findDaemon(options, createResolve());
  if ("code" in daemon) return null;
  const question = { path: "/api/status", by: { method: "GET", timeout: PATIENCE }, isSaid: isStatus };
  const answer = readSaid(await send(daemon, question), { daemon, question });
  const gone = "said" in answer ? answer.said.outbox.gone : null;
  return gone ? { daemon, gone } : null;
}

/** Writes what the daemon still has of its outbox to a file. Answers why it cannot. */
export async function copyThrough({ daemon }: Holder, file: NewFile): Promise<Complaint | null> {
  const authorization = daemon.token && { Authorization: `Bearer ${daemon.token.secret.reveal()}` };
  let unflushed = 0;
  const ask = { base: daemon.base, method: "GET", path: PATH, headers: { ...authorization }, timeout: LONGEST };
  const exchange = await download(ask, (piece) => {
    file.write(piece);
    unflushed += piece.length;
    if (unflushed < UNFLUSHED) return;
    file.flush();
    unflushed = 0;
  });
  if (exchange.kind === "answered" && exchange.status === 200) return null;
  const question: Question<never> = { path: PATH, isSaid: (said): said is never => said === undefined };
  const answer = readSaid(exchange, { daemon, question });
  return "code" in answer ? answer : null;
}

const PATH = "/api/backup";
