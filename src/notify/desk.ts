import { type Destination, NOTIFY_SOURCE, type Notifier } from "../model/config.ts";
import { formatId } from "../model/delivery.ts";
import { ownEvent } from "../model/event.ts";
import { type Fault, isFault } from "../model/fault.ts";
import type { Fact, GivenUp, Message, Notice, NoticeRules } from "../model/notice.ts";
import { storedBody } from "../model/payload.ts";
import type { Accept, Clock, DeliveryName, Marks, Random } from "../model/ports.ts";
import type { Report } from "../model/report.ts";
import type { Template } from "../model/template.ts";
import type { Timeline } from "../model/timeline.ts";
import { render } from "../webhook/template.ts";
import { writeMessage } from "./message.ts";
import { createNotices } from "./notices.ts";

export type DeskWorld = Pick<NoticeRules, "alone" | "leads"> & {
  /** The entry as the config has it now. */
  readonly notifier: () => Notifier;
  /** Whether other daemons may have reported something meanwhile. */
  readonly isShared: boolean;
  readonly accept: Accept;
  readonly marks: Marks;
  readonly timeline: Pick<Timeline, "toWall">;
  readonly host: string;
  readonly clock: Pick<Clock, "now" | "wall">;
  readonly random: Random;
  readonly report: Pick<Report, "daemon">;
};

/** What is reported to one entry of `notify`, and what was. */
export type Desk = {
  /** Tells what is due. Rejects when the store cannot be read. */
  look(facts: readonly Fact[]): Promise<void>;
  countGivenUp(givenUp: GivenUp): void;
  /** Tells what is counted, due or not. */
  tellCounted(): Promise<void>;
};

export function createDesk(world: DeskWorld): Desk {
  const { notifier, clock, report } = world;
  const notices = createNotices({ ...world, rules: notifier });
  const prefix = `notify/${notifier().name}/`;
  /** The marks as they are in the store; null until they were read. */
  let stored: Values | null = null;
  let refusedBy: Fault["code"] | null = null;

  return {
    async look(facts) {
      if (stored === null) await readMarks();
      notices.see(facts, clock.now());
      if (world.isShared && notices.due(clock.now()).length > 0) await readMarks();
      await tell(notices.due(clock.now()));
    },
    countGivenUp: (givenUp) => notices.countGivenUp(givenUp, clock.now()),
    tellCounted: () => tell(notices.counted(clock.now())),
  };

  async function readMarks(): Promise<void> {
    const read = await world.marks.all(prefix);
    const before = stored ?? NO_MARKS;
    stored = new Map([...read].map(([name, value]) => [name.slice(prefix.length), value]));
    notices.adopt(stored, before);
  }

  /** What cannot be stored stays due. */
  async function tell(due: readonly Notice[]): Promise<void> {
    for (const notice of due) {
      if (!(await tellOne(notice))) break;
    }
    await saveMarks();
  }

  async function tellOne(notice: Notice): Promise<boolean> {
    const { name, destination } = notifier();
    const { host, timeline } = world;
    const message = writeMessage(notice, { wall: clock.wall(), host, toWall: timeline.toWall });
    const { kind, state, title } = message;
    const accepted = await acceptMessage(destination, message, world);
    if (isFault(accepted)) {
      const { code, message: reason } = accepted;
      if (refusedBy !== code) report.daemon("notification_refused", { notify: name, kind, state, title, code, reason });
      refusedBy = code;
      return false;
    }
    refusedBy = null;
    notices.told(notice, clock.now());
    report.daemon("notification", { notify: name, kind, state, title, event: accepted.messageId });
    return true;
  }

  /** If the daemon is killed before, it is reported again. */
  async function saveMarks(): Promise<void> {
    const now = notices.marks(clock.now());
    const changes = changesOf(stored ?? NO_MARKS, now, prefix);
    if (changes.size > 0 && !isFault(await world.marks.save(changes))) stored = now;
  }
}

type Values = ReadonlyMap<string, number>;

const NO_MARKS: Values = new Map();

function changesOf(before: Values, now: Values, prefix: string): ReadonlyMap<string, number | null> {
  const kept = [...now].filter(([name, value]) => before.get(name) !== value);
  const removed = [...before.keys()].filter((name) => !now.has(name));
  return new Map<string, number | null>([
    ...kept.map(([name, value]) => [prefix + name, value] as const),
    ...removed.map((name) => [prefix + name, null] as const),
  ]);
}

type Accepting = Pick<DeskWorld, "accept" | "clock" | "random">;

/** Stores a notification for the destination that its webhook is. */
export async function acceptMessage(
  { name: to, template }: Pick<Destination, "name" | "template">,
  message: Message,
  { accept, clock, random }: Accepting,
): Promise<DeliveryName | Fault> {
  const at = clock.wall();
  // It begins with the time, as all ids of this server do.
  const messageId = `fl-${at.toString(16).padStart(12, "0")}-${random.hex(10)}`;
  const words = { event: message.title, properties: message, userId: undefined };
  const receipts = await accept(
    NOTIFY_SOURCE,
    [ownEvent({ type: "track", messageId, ...words, at })],
    [{ notification: { to, body: bodyOf(message, to, template) } }],
  );
  if (isFault(receipts)) return receipts;
  const [receipt] = receipts;
  const delivery = receipt?.kind === "accepted" ? receipt.deliveries[0] : undefined;
  // An id of this server is no repeat, and a notification is about no user.
  if (delivery === undefined) throw new Error(`a notification for ${to} has no delivery`);
  return { messageId, delivery: formatId(delivery) };
}

/** What is stored: the message, and beside it what a template makes of it. */
function bodyOf(message: Message, to: string, template: Template | null): string {
  const payloads = template === null ? [] : [[to, render(template, message).text] as const];
  return storedBody(JSON.stringify(message), payloads);
}
