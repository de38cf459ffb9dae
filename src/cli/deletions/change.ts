import type { Command } from "commander";
import { print } from "../../runtime/output.ts";
import { type Done, examples } from "../command.ts";
import { complain } from "../complain.ts";
import { askDaemon } from "../daemon/ask.ts";
import { addDaemonOptions, type DaemonOptions } from "../daemon/find.ts";
import { inParts, readUsers, type UsersOptions } from "../delete-user/users.ts";
import { usersOf } from "../delete-user/words.ts";
import { EXIT, type ExitCode } from "../exit.ts";
import { printable } from "../printable.ts";
import { isErasing, isUnsuppressed } from "./said.ts";

/** `fairlead deletions unsuppress`: takes calls of these users again. */
export function declareUnsuppress(deletions: Command, done: Done): void {
  const command = deletions
    .command("unsuppress")
    .argument("[userId...]", "whom; or --from")
    .description("take calls of users again that were deleted with --suppress")
    .option("--from <file>", "userIds, one on each line; - for standard input")
    .option("--json", "print how many there were as JSON");
  addDaemonOptions(command)
    .addHelpText("after", examples("fairlead deletions unsuppress u-1234"))
    .action((ids: readonly string[], options: UnsuppressOptions) => done(unsuppress(ids, options)));
}

type UnsuppressOptions = DaemonOptions & UsersOptions & { readonly json?: boolean };

async function unsuppress(ids: readonly string[], options: UnsuppressOptions): Promise<ExitCode> {
  const users = await readUsers(ids, options);
  if ("code" in users) return complain(users);
  let unsuppressed = 0;
  for (const userIds of inParts(users)) {
    const ask = { path: "/api/deletions/unsuppress", body: { userIds }, isSaid: isUnsuppressed };
    const answer = await askDaemon(options, ask);
    if ("code" in answer) return complain(answer);
    unsuppressed += answer.said.unsuppressed;
  }
  if (options.json) print(JSON.stringify({ unsuppressed }));
  else print(`${usersOf(unsuppressed)} of ${usersOf(users.length)} had been suppressed; calls of all are taken now.`);
  return EXIT.done;
}

/** `fairlead deletions erase ID`: does not wait until what was given up is replayed. */
export function declareErase(deletions: Command, done: Done): void {
  const command = deletions
    .command("erase")
    .argument("<id>", "of a request with --erase, as `fairlead deletions` lists it")
    .description("erase its users here although a notification was given up, which goes, too")
    .option("--json", "print the request as JSON");
  addDaemonOptions(command)
    .addHelpText("after", examples("fairlead deletions erase del-01a1fab66cf4-ec51cfdfc017"))
    .action((id: string, options: DaemonOptions & { readonly json?: boolean }) => done(erase(id, options)));
}

async function erase(id: string, options: DaemonOptions & { readonly json?: boolean }): Promise<ExitCode> {
  const path = `/api/deletions/${encodeURIComponent(id)}/erase`;
  const answer = await askDaemon(options, { path, body: {}, isSaid: isErasing });
  if ("code" in answer) return complain(answer);
  const { deletion } = answer.said;
  if (options.json) print(printable(JSON.stringify(deletion)));
  else print(printable(`${deletion.id}: its users are erased as soon as no notification is on its way any more.`));
  return EXIT.done;
}
