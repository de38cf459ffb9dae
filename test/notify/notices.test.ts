import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { NOTICE_KINDS, type NoticeKind } from "../../src/model/config.ts";
import { type Fact, GROUPING, type Notice, type NoticeRules } from "../../src/model/notice.ts";
import { type At, DAY, HOUR, MINUTE, type Ms, SECOND } from "../../src/model/units.ts";
import { createNotices } from "../../src/notify/notices.ts";
import { createChance } from "../simulate/random.ts";

const RULES = { on: NOTICE_KINDS, failingFor: 5 * MINUTE, repeat: 4 * HOUR, perHour: 12 };

type Desk = {
  now: At;
  /** Lets time pass with these facts, looks every ten seconds, and answers what was told in `[kind state: subjects]`. */
  pass(ms: Ms, ...facts: readonly Fact[]): readonly string[];
  readonly notices: ReturnType<typeof createNotices>;
};

function open(rules: Partial<typeof RULES> = {}, who: Partial<NoticeRules> = {}): Desk {
  const notices = createNotices({
    rules: () => ({ ...RULES, ...rules }),
    alone: () => true,
    leads: () => true,
    ...who,
  });
  const desk: Desk = {
    now: 0,
    notices,
    pass(ms, ...facts) {
      const told: string[] = [];
      for (const until = desk.now + ms; desk.now < until; ) {
        desk.now += 10 * SECOND;
        notices.see(facts, desk.now);
        for (const notice of notices.due(desk.now)) {
          told.push(write(notice));
          notices.told(notice, desk.now);
        }
      }
      return told;
    },
  };
  return desk;
}

function write({ kind, state, items }: Notice): string {
  return `${kind} ${state}: ${items.map(({ subject }) => subject).join(" ")}`;
}

function bad(subject: string, since: At = 0, kind: NoticeKind = "destination_failing"): Fact {
  return { kind, subject, state: "bad", since, says: `${subject} fails`, details: {} };
}

function fine(subject: string, kind: NoticeKind = "destination_failing"): Fact {
  return { kind, subject, state: "fine", since: 0, says: "", details: {} };
}

function unknown(subject: string): Fact {
  return { ...fine(subject), state: "unknown" };
}

const NO_MARKS: ReadonlyMap<string, number> = new Map();

const NEW = "destination_failing new:";
const ONGOING = "destination_failing ongoing:";
const RECOVERED = "destination_failing recovered:";

describe("notices", () => {
  it("tell of a destination once it has failed for long enough, and a minute has passed", () => {
    const desk = open();
    assert.deepEqual(desk.pass(5 * MINUTE + 50 * SECOND, bad("crm")), []);
    assert.deepEqual(desk.pass(10 * SECOND, bad("crm")), [`${NEW} crm`]);
  });

  it("tell nothing of one that fails for a shorter time, however often", () => {
    const desk = open();
    for (let n = 0; n < 100; n += 1) {
      assert.deepEqual(desk.pass(4 * MINUTE, bad("crm", desk.now)), []);
      assert.deepEqual(desk.pass(MINUTE, fine("crm")), []);
    }
  });

  it("tell together what begins within a minute, and what ends within a minute", () => {
    const desk = open();
    desk.pass(5 * MINUTE, bad("crm"));
    desk.pass(30 * SECOND, bad("crm"), bad("erp"));
    assert.deepEqual(desk.pass(30 * SECOND, bad("crm"), bad("erp"), bad("lake")), [`${NEW} crm erp lake`]);
    desk.pass(30 * SECOND, fine("crm"), bad("erp"), bad("lake"));
    assert.deepEqual(desk.pass(40 * SECOND, fine("crm"), fine("erp"), bad("lake")), [`${RECOVERED} crm erp`]);
  });

  it("tell again of what lasts, all of a kind together, and not at all once it is over", () => {
    const desk = open();
    desk.pass(10 * MINUTE, bad("crm"));
    desk.pass(2 * HOUR, bad("crm"), bad("erp", 10 * MINUTE));
    const both = [bad("crm"), bad("erp", 10 * MINUTE)];
    assert.deepEqual(desk.pass(10 * HOUR, ...both), Array(3).fill(`${ONGOING} crm erp`));
    assert.deepEqual(desk.pass(DAY, fine("crm"), fine("erp")), [`${RECOVERED} crm erp`]);
  });

  it("tell nothing of what ends and begins again within a minute", () => {
    const desk = open();
    desk.pass(10 * MINUTE, bad("crm"));
    assert.deepEqual(desk.pass(50 * SECOND, fine("crm")), []);
    assert.deepEqual(desk.pass(HOUR, bad("crm")), []);
  });

  it("tell of trouble that came and went before it was told, as over", () => {
    const desk = open();
    desk.pass(5 * MINUTE + 30 * SECOND, bad("crm"));
    assert.deepEqual(desk.pass(HOUR, fine("crm")), [`${RECOVERED} crm`]);
  });

  it("leave open what nobody can say, and do not repeat it", () => {
    const desk = open();
    desk.pass(10 * MINUTE, bad("crm"));
    assert.deepEqual(desk.pass(DAY, unknown("crm")), []);
    assert.deepEqual(desk.pass(2 * MINUTE, fine("crm")), [`${RECOVERED} crm`]);
  });

  it("take what is looked at no more for over", () => {
    const desk = open();
    desk.pass(10 * MINUTE, bad("crm"));
    assert.deepEqual(desk.pass(2 * MINUTE), [`${RECOVERED} crm`]);
  });

  it("tell of kinds that are asked for, and forget those that are no more", () => {
    let on: readonly NoticeKind[] = ["clock_wrong"];
    const desk = open({}, { rules: () => ({ ...RULES, on }) });
    const facts = [bad("crm"), bad("the clock", 0, "clock_wrong")];
    assert.deepEqual(desk.pass(10 * MINUTE, ...facts), ["clock_wrong new: the clock"]);
    on = ["destination_failing"];
    assert.deepEqual(desk.pass(10 * MINUTE, ...facts), [`${NEW} crm`]);
    assert.deepEqual(desk.pass(10 * MINUTE, bad("crm")), []);
  });

  it("count what is given up, and tell it once in each repeat", () => {
    const desk = open();
    const giveUp = (state: "failed" | "expired", times: number) => {
      for (let n = 0; n < times; n += 1)
        desk.notices.countGivenUp({ destination: "crm", state, reason: "400" }, desk.now);
    };
    giveUp("failed", 1);
    assert.deepEqual(desk.pass(50 * SECOND), []);
    assert.deepEqual(desk.pass(20 * SECOND), ["deliveries_given_up new: crm"]);
    giveUp("expired", 1_200);
    giveUp("failed", 4);
    assert.deepEqual(desk.pass(4 * HOUR - MINUTE), []);
    desk.now += MINUTE;
    const [notice] = desk.notices.due(desk.now);
    assert.deepEqual(notice?.items[0]?.details, { failed: 4, expired: 1_200 });
    // One more while it is being stored.
    giveUp("failed", 1);
    if (notice) desk.notices.told(notice, desk.now);
    assert.deepEqual(desk.notices.counted(desk.now)[0]?.items[0]?.details, { failed: 1, expired: 0 });
  });

  it("tell what one destination was given up without another that was told within repeat", () => {
    const desk = open();
    const giveUp = (destination: string) =>
      desk.notices.countGivenUp({ destination, state: "failed", reason: "400" }, desk.now);
    giveUp("crm");
    assert.deepEqual(desk.pass(2 * MINUTE), ["deliveries_given_up new: crm"]);
    giveUp("crm");
    giveUp("erp");
    desk.now += 50 * SECOND;
    giveUp("lake");
    assert.deepEqual(desk.pass(3 * HOUR), ["deliveries_given_up new: erp lake"]);
    assert.deepEqual(desk.pass(2 * HOUR), ["deliveries_given_up new: crm"]);
  });

  it("remember by their marks what was told, when, and how much in this hour", () => {
    const before = open({ perHour: 2 });
    before.pass(10 * MINUTE, bad("crm"));
    before.pass(10 * MINUTE, bad("crm"), bad("erp"));
    const after = open({ perHour: 2 });
    after.now = before.now;
    after.notices.adopt(before.notices.marks(before.now), NO_MARKS);
    assert.deepEqual(after.pass(10 * MINUTE, unknown("crm"), bad("erp"), bad("lake", 9 * MINUTE)), []);
    const told = after.pass(HOUR, fine("crm"), bad("erp"), bad("lake", 9 * MINUTE));
    assert.deepEqual(told, [`${NEW} lake`, `${RECOVERED} crm`]);
    assert.deepEqual(after.pass(4 * HOUR, bad("erp"), fine("crm"), fine("lake")), [
      `${RECOVERED} lake`,
      `${ONGOING} erp`,
    ]);
  });

  it("stay due until they are told", () => {
    const desk = open();
    desk.notices.see([bad("crm")], 5 * MINUTE);
    for (const now of [6 * MINUTE, 7 * MINUTE]) assert.equal(desk.notices.due(now).length, 1);
    assert.equal(desk.notices.marks(7 * MINUTE).size, 0);
  });
});

describe("notices of daemons that share an outbox", () => {
  const shared = (leads: boolean) => open({}, { alone: () => false, leads: () => leads });

  it("are told by one of them, and over once that one says so", () => {
    const [first, second] = [shared(true), shared(false)];
    assert.deepEqual(first.pass(10 * MINUTE, bad("crm")), [`${NEW} crm`]);
    second.notices.adopt(first.notices.marks(first.now), NO_MARKS);
    assert.deepEqual(second.pass(10 * MINUTE, bad("crm")), []);
    assert.deepEqual(first.pass(10 * MINUTE, fine("crm")), [`${RECOVERED} crm`]);
  });

  it("are not over because one that has seen nothing of it finds nothing wrong", () => {
    const [first, second] = [shared(false), shared(true)];
    first.pass(10 * MINUTE, bad("crm"));
    second.now = first.now;
    second.notices.adopt(first.notices.marks(first.now), NO_MARKS);
    assert.deepEqual(second.pass(4 * HOUR, fine("crm")), []);
    // Nobody has told it again at its time: the daemon that did is gone.
    assert.deepEqual(second.pass(20 * MINUTE, fine("crm")), [`${RECOVERED} crm`]);
  });

  it("forget what another one has told the end of", () => {
    const [first, second] = [shared(false), shared(true)];
    first.pass(10 * MINUTE, bad("crm"));
    const before = first.notices.marks(first.now);
    second.notices.adopt(before, NO_MARKS);
    second.pass(10 * MINUTE, bad("crm"));
    second.notices.see([fine("crm")], second.now);
    first.pass(10 * MINUTE, fine("crm"));
    second.notices.adopt(first.notices.marks(first.now), before);
    assert.deepEqual(second.pass(DAY, fine("crm")), []);
  });

  it("are told again by one for which it is not over", () => {
    const [first, second] = [shared(false), shared(true)];
    first.pass(10 * MINUTE, bad("crm"));
    const before = first.notices.marks(first.now);
    second.notices.adopt(before, NO_MARKS);
    assert.deepEqual(second.pass(10 * MINUTE, bad("crm")), []);
    first.pass(10 * MINUTE, fine("crm"));
    second.notices.adopt(first.notices.marks(first.now), before);
    assert.deepEqual(second.pass(HOUR, bad("crm")), [`${NEW} crm`]);
  });
});

describe("notices, whatever happens", () => {
  const STEP = 20 * SECOND;
  const DAYS = 2 * DAY;
  /** Then all is well: long enough for a repeat. */
  const CALM = DAYS - 8 * HOUR;
  const SUBJECTS = ["crm", "erp", "lake", "mail", "bi"];

  for (let seed = 1; seed <= 16; seed += 1) {
    it(`are never a storm, leave nothing out, and tell the end of all that they tell: seed ${seed}`, () => {
      const { below, happens } = createChance(seed);
      const perHour = 1 + below(6);
      const turns = happens(0.5) ? 0.03 : 0.004;
      const [sent, told, restarts, outages] = [[] as At[], [] as Telling[], [] as At[], [] as Outage[]];
      const since = new Map<string, At>();
      let [notices, untold] = [open({ perHour }).notices, 0];
      function tell(some: readonly Notice[], now: At): void {
        for (const notice of some) {
          notices.told(notice, now);
          sent.push(now);
          const { kind, state, items } = notice;
          if (kind === "deliveries_given_up") untold -= countOf(items);
          else told.push(...items.map(({ subject }) => ({ subject, state, at: now })));
        }
      }

      for (let now = 0; now < DAYS; now += STEP) {
        for (const subject of SUBJECTS) {
          const from = since.get(subject);
          if (from === undefined && now < CALM && happens(turns)) since.set(subject, now);
          if (from === undefined || !(now >= CALM || happens(turns))) continue;
          outages.push({ subject, from, until: now });
          since.delete(subject);
        }
        if (now < CALM && happens(0.05)) {
          untold += 1;
          notices.countGivenUp({ destination: "crm", state: "failed", reason: "400" }, now);
        }
        if (happens(0.001)) {
          tell(notices.counted(now), now);
          // What may not be told in this hour is lost.
          untold = 0;
          const next = open({ perHour }).notices;
          next.adopt(notices.marks(now), NO_MARKS);
          notices = next;
          restarts.push(now);
        }
        notices.see(
          SUBJECTS.map((subject) => (since.has(subject) ? bad(subject, since.get(subject)) : fine(subject))),
          now,
        );
        tell(notices.due(now), now);
      }

      for (const at of sent) {
        const inHour = sent.filter((other) => other > at - HOUR && other <= at).length;
        assert.ok(inHour <= perHour, `${inHour} in the hour before ${at}, and ${perHour} are allowed`);
      }
      for (const subject of SUBJECTS) {
        const last = told.findLast((one) => one.subject === subject);
        assert.ok(last === undefined || last.state === "recovered", `${subject} was told of, and not that it is over`);
      }
      // There are three kinds of notices of destinations and one of counts, and each takes all that waits for it.
      const latest = GROUPING + STEP + (4 / perHour) * HOUR + HOUR;
      for (const { subject, from, until } of outages) {
        if (until - from < RULES.failingFor + STEP) continue;
        if (restarts.some((at) => at >= from && at <= until + latest)) continue;
        const own = told.filter((one) => one.subject === subject && one.at <= until + latest);
        const before = own.findLast(({ at }) => at < from);
        // That an earlier outage is over was not told yet: then it is the same one to whom it was told.
        const isOpen = before !== undefined && before.state !== "recovered";
        assert.ok(isOpen || own.some(({ at }) => at >= from), `${subject} failed from ${from} to ${until}`);
      }
      assert.equal(untold, 0);
    });
  }
});

type Telling = { readonly subject: string; readonly state: string; readonly at: At };
type Outage = { readonly subject: string; readonly from: At; readonly until: At };

function countOf(items: Notice["items"]): number {
  return items.reduce((sum, { details }) => sum + Number(details.failed) + Number(details.expired), 0);
}
