import type { Members } from "../model/audience.ts";
import type { ForgetMembers } from "../model/deletion.ts";

/** Users at once: their commits are shared, and nobody waits long behind them. */
const TOGETHER = 200;

/** Forgets which audiences users are in, and their traits, in these sources or in all. Nothing is sent, also not of a sync that runs. */
export function createForgetMembers(members: Pick<Members, "forget">): ForgetMembers {
  return async function forgetMembers(userIds, sources) {
    for (let from = 0; from < userIds.length; from += TOGETHER) {
      const some = userIds.slice(from, from + TOGETHER);
      const answers = await Promise.all(some.map((user) => members.forget(user, sources)));
      for (const answer of answers) if (typeof answer !== "number") return answer;
    }
    return null;
  };
}
