import type { Judge } from "./requests.ts";

/** What a user sent before a deletion was asked for does not go out once the notification of it is made. */
export const checkDeleted: Judge = ({ request: { body }, world }) => {
  const entry = world.ledger.byBody(body);
  const { event, userId, source } = entry ?? {};
  if (!event || !userId) return null;
  const notice = world.rows.notices.find((one) => one.userId === userId && one.source === source && one.upTo >= event);
  return notice ? `its user ${userId} was deleted: the notification is event ${notice.event}, this is ${event}` : null;
};
