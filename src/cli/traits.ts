import type { Command } from "commander";
import type { Done } from "./command.ts";
import { declareComputations } from "./computations/commands.ts";

/** `fairlead traits sync | list | show | delete`. */
export function declareTraits(program: Command, done: Done): void {
  declareComputations(program, done, {
    kind: "trait",
    command: "traits",
    description: "give users the values that were computed for them; receivers hear of those that have changed",
    sync: "compare a trait with a list of users and values; a call goes out for each whose value is another one",
    remove: "delete a trait; its users get null",
    name: "lifetime-value",
    file: "values.jsonl",
    help: HELP,
  });
}

const HELP = `The list is JSON lines or a JSON array of {"userId": …, "value": …} or of
[userId, value], or CSV with a header (userId and value, all of it text); it may
end in .gz. A value is a string, a number, true or false; null takes it away.
Users who are not in the list keep what they have.`;
