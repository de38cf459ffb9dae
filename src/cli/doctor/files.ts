import { type Finding, say } from "./finding.ts";

export type FileFacts = {
  /** Whose they are: the running daemon's, or those of a program that is started from here. */
  readonly of: "daemon" | "here";
  readonly limit: number | null;
  readonly open: number | null;
};

/** Deliveries that can run at once, and what the daemon has open besides them and its clients. */
const OWN = 300;
/** Room for so many clients at once is what an installation may expect. */
const CLIENTS = 1_000;

/** Whether the system lets the daemon have the files and connections that it needs. */
export function judgeFiles({ of, limit, open }: FileFacts): readonly Finding[] {
  const { ok, skipped, warning, error } = say("files");
  const whose = of === "daemon" ? "the daemon" : "a daemon that is started from here";
  if (limit === null) return [skipped("unseen", `how many files ${whose} may open cannot be seen`)];
  if (limit === Number.POSITIVE_INFINITY) return [ok(`${whose} may open any number of files and connections`)];
  const clients = Math.max(0, limit - OWN);
  const what = `${whose} may have ${limit} files and connections open, room for ${clients} clients beside its own ${OWN}`;
  if (clients < 100) return [error("files_few", what, RAISE)];
  if (clients < CLIENTS) return [warning("files_few", what, RAISE)];
  if (of === "daemon" && open !== null && open > limit * 0.8) {
    return [warning("files_used", `the daemon has ${open} files and connections open, of ${limit} at most`, RAISE)];
  }
  return [ok(what)];
}

const RAISE = "raise LimitNOFILE= of its unit, or ulimit -n where it is started";
