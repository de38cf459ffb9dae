import type { Members } from "../model/audience.ts";
import type { ForgetMembers } from "../model/deletion.ts";

/** Forgets which audiences users are in, and their traits, in these sources or in all that have any. Nothing is sent. */
export function createForgetMembers(members: Pick<Members, "all" | "forget">): ForgetMembers {
  return async function forgetMembers(userIds, sources) {
    const affected = sources ?? [...new Set(members.all().map(({ source }) => source))];
    for (const user of userIds) {
      const answer = await members.forget(user, affected);
      if (typeof answer !== "number") return answer;
    }
    return null;
  };
}
