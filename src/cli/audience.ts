import type { Command } from "commander";
import type { Done } from "./command.ts";
import { declareComputations } from "./computations/commands.ts";

/** `fairlead audience sync | list | show | delete`. */
export function declareAudience(program: Command, done: Done): void {
  declareComputations(program, done, {
    kind: "audience",
    command: "audience",
    description: "keep audiences in step with lists of their members; receivers hear who enters and who leaves",
    sync: "compare an audience with the list of all its members; a call goes out for each who enters or leaves",
    remove: "delete an audience; its members get false",
    name: "big-spenders",
    file: "members.csv",
    help: HELP,
  });
}

const HELP = `The list is CSV with a header (userId), JSON lines or a JSON array of user ids,
or of objects with a userId; it may end in .gz. It has to be the whole of it:
whoever is missing has left. One that would remove more than half of at least
100 members is refused unless --allow-shrink says that it is meant. Ctrl-C ends
the upload, and nothing is changed; what has begun by then, the daemon finishes.`;
