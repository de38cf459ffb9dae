import type { Command } from "commander";
import { createClock } from "../runtime/clock.ts";
import { errorColumns, isErrorTerminal, print, printError } from "../runtime/output.ts";
import { type Done, examples } from "./command.ts";
import { type Complaint, complain } from "./complain.ts";
import { askDaemon } from "./daemon/ask.ts";
import { addDaemonOptions, type DaemonOptions } from "./daemon/find.ts";
import { inParts, readUsers, type UsersOptions } from "./delete-user/users.ts";
import { type Requested, toPlan, toWords, usersOf, type Wishes } from "./delete-user/words.ts";
import { isRequested } from "./deletions/said.ts";
import { EXIT, type ExitCode } from "./exit.ts";
import { printable } from "./printable.ts";
import { createProgressBar } from "./progress.ts";
import { confirm } from "./unserved/confirm.ts";

/** `fairlead delete-user`: tells all that take events of these users to delete them. */
export function declareDeleteUser(program: Command, done: Done): void {
  const command = program
    .command("delete-user")
    .description("tell all that take events of these users to delete them; end what waits of them")
    .argument("[userId...]", "whom; or --from")
    .option("--from <file>", "userIds, one on each line; - for standard input")
    .option("--source <name>", "only as users of this source; may come again (default: of all)", collect)
    .option("--erase", "also remove what Fairlead itself has of them, once the notifications have gone out")
    .option("--suppress", "also refuse their later calls, until `fairlead deletions unsuppress`")
    .option("--yes", "do not ask; needed where nobody can be asked")
    .option("--json", "print what was set off as JSON");
  addDaemonOptions(command)
    .addHelpText("after", HELP)
    .action((ids: readonly string[], options: DeleteOptions) => done(deleteUsers(ids, options)));
}

const HELP = `${examples(
  "fairlead delete-user u-1234",
  "fairlead delete-user u-1234 u-5678 --source website --erase --yes",
  "fairlead delete-user --from leavers.txt --erase --suppress",
  "fairlead deletions",
)}

Other users of this machine can read arguments in the list of processes, but not
a file. What is not covered by --erase (backups, logs, receivers) is listed in
docs/deletions.md.`;

function collect(name: string, before: readonly string[] = []): readonly string[] {
  return [...before, name];
}

type DeleteOptions = DaemonOptions & UsersOptions & Wishes & { readonly yes?: boolean; readonly json?: boolean };

async function deleteUsers(ids: readonly string[], options: DeleteOptions): Promise<ExitCode> {
  const users = await readUsers(ids, options);
  if ("code" in users) return complain(users);
  const refusal = options.yes ? null : await confirm(toPlan(users, options));
  if (refusal !== null) return complain(refusal);
  const requested: Requested[] = [];
  const failed = await requestAll(users, options, (one) => requested.push(one));
  if (options.json) print(printable(JSON.stringify({ requested })));
  else if (requested.length > 0) print(toWords(requested));
  if (failed === null) return EXIT.done;
  const count = requested.reduce((sum, one) => sum + one.users, 0);
  const before = count === 0 ? "" : `; the first ${usersOf(count)} were requested before, the others were not`;
  return complain({ ...failed, message: `${failed.message}${before}` });
}

/** Part by part: each is a request of its own. Answers why it ended early, or null. */
async function requestAll(
  users: readonly string[],
  options: DeleteOptions,
  took: (requested: Requested) => void,
): Promise<Complaint | null> {
  const { source: sources, erase = false, suppress = false } = options;
  const clock = createClock();
  const began = clock.now();
  const terminal = { write: printError, isTerminal: isErrorTerminal(), width: errorColumns, now: clock.now };
  const bar = createProgressBar(terminal);
  let done = 0;
  for (const userIds of inParts(users)) {
    const body = { userIds, erase, suppress, ...(sources && { sources }) };
    const answer = await askDaemon(options, { path: "/api/deletions", body, isSaid: isRequested });
    if ("code" in answer) {
      bar.clear();
      return answer;
    }
    const { id, status, notifications, sources: affected, untold = [] } = answer.said;
    took({ id, status, notifications, sources: affected, untold, users: userIds.length });
    done += userIds.length;
    bar.show({ done, total: users.length, elapsed: clock.now() - began });
  }
  bar.clear();
  return null;
}
