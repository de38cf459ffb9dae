import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Destination } from "../../src/model/config.ts";
import { CALL_TYPES, type Event } from "../../src/model/event.ts";
import { DAY } from "../../src/model/units.ts";
import { route } from "../../src/route/route.ts";
import { makeDestination } from "../flow/make.ts";
import { makeEvent, RECEIVED_AT } from "../model/make.ts";

/** The rule that keeps an event from a destination, or null if it gets it. */
function ruleOf(event: Partial<Event>, destination: Partial<Destination> = {}): string | null {
  const { deliverTo, skipped } = route(makeEvent(event), "website", [makeDestination(destination)]);
  assert.equal(deliverTo.length + skipped.length, 1);
  return skipped[0]?.rule ?? null;
}

describe("routing", () => {
  it("sends an event to every destination, in the order of the config, unless a rule keeps it away", () => {
    const destinations = ["a", "b", "c"].map((name) => makeDestination({ name, enabled: name !== "b" }));
    assert.deepEqual(route(makeEvent(), "website", destinations), {
      deliverTo: ["a", "c"],
      skipped: [{ destination: "b", rule: "destination_disabled" }],
    });
  });

  it("names nobody where there is no destination", () => {
    assert.deepEqual(route(makeEvent(), "website", []), { deliverTo: [], skipped: [] });
  });

  it("decides about each event by itself, whatever came before it", () => {
    const destinations = [
      makeDestination({ name: "a", sources: ["website"], historical: "skip" }),
      makeDestination({ name: "b", types: ["track"] }),
    ];
    const takers = (event: Partial<Event>, source = "website") =>
      route(makeEvent({ type: "track", ...event }), source, destinations).deliverTo;
    for (let times = 0; times < 2; times += 1) {
      assert.deepEqual(takers({}), ["a", "b"]);
      assert.deepEqual(takers({ type: "page" }), ["a"]);
      assert.deepEqual(takers({}, "app"), ["b"]);
      assert.deepEqual(takers({ integrations: { a: false } }), ["b"]);
      assert.deepEqual(takers({ timestamp: "2001-01-01T00:00:00.000Z" }), ["b"]);
    }
  });

  it("keeps away what comes from a source that was not selected", () => {
    assert.equal(ruleOf({}, { sources: ["app", "website"] }), null);
    assert.equal(ruleOf({}, { sources: ["app"] }), "source_not_selected");
    assert.equal(ruleOf({}, { sources: ["Website"] }), "source_not_selected");
    assert.equal(ruleOf({}, { sources: [] }), "source_not_selected");
  });

  it("keeps away the calls that were not selected", () => {
    for (const type of CALL_TYPES) {
      assert.equal(ruleOf({ type }), null);
      assert.equal(ruleOf({ type }, { types: [type] }), null);
      assert.equal(ruleOf({ type }, { types: CALL_TYPES.filter((one) => one !== type) }), "type_not_selected");
    }
  });

  it("names the first rule that decides: destination, source, type, integrations, history", () => {
    const event = { integrations: { All: false }, timestamp: "2001-01-01T00:00:00.000Z" };
    const rules = { enabled: false, sources: ["app"], types: ["page"], historical: "skip" } as const;
    assert.equal(ruleOf(event, rules), "destination_disabled");
    assert.equal(ruleOf(event, { ...rules, enabled: true }), "source_not_selected");
    assert.equal(ruleOf(event, { ...rules, enabled: true, sources: null }), "type_not_selected");
    assert.equal(ruleOf(event, { historical: "skip" }), "all_integrations_disabled");
    assert.equal(ruleOf({ ...event, integrations: undefined }, { historical: "skip" }), "historical");
  });
});

describe("integrations (SPEC.md 4.3 rule 4)", () => {
  const CASES: readonly (readonly [integrations: string, rule: string | null])[] = [
    ["{}", null],
    ['{"crm":true}', null],
    ['{"crm":false}', "integration_disabled"],
    ['{"Webhooks":false}', "integration_disabled"],
    ['{"Webhooks":true}', null],
    ['{"All":false}', "all_integrations_disabled"],
    ['{"All":true}', null],
    ['{"all":false}', "all_integrations_disabled"],
    // The destination's own name decides before its kind, and that before All.
    ['{"All":false,"crm":true}', null],
    ['{"All":false,"Webhooks":true}', null],
    ['{"all":false,"crm":true}', null],
    ['{"All":true,"crm":false}', "integration_disabled"],
    ['{"All":true,"Webhooks":false}', "integration_disabled"],
    ['{"Webhooks":false,"crm":true}', null],
    ['{"Webhooks":true,"crm":false}', "integration_disabled"],
    ['{"All":false,"Webhooks":true,"crm":false}', "integration_disabled"],
    ['{"All":true,"all":false}', null],
    ['{"All":false,"all":true}', "all_integrations_disabled"],
    // Names are case sensitive, and others decide nothing.
    ['{"CRM":false,"webhooks":false,"ALL":false}', null],
    ['{"All":false,"CRM":true,"warehouse":true}', "all_integrations_disabled"],
    // Options mean that the destination is wanted, null says nothing.
    ['{"All":false,"crm":{"key":"value"}}', null],
    ['{"All":false,"crm":{}}', null],
    ['{"All":{}}', null],
    ['{"crm":null,"Webhooks":false}', "integration_disabled"],
    ['{"All":false,"crm":null,"Webhooks":null}', "all_integrations_disabled"],
    ['{"All":null,"all":false}', "all_integrations_disabled"],
    ['{"All":null}', null],
  ];

  for (const [integrations, rule] of CASES) {
    it(`${integrations} → ${rule ?? "deliver"}`, () => {
      assert.equal(ruleOf({ integrations: JSON.parse(integrations) }), rule);
    });
  }

  it("knows a destination that is named like a key of its own", () => {
    assert.equal(ruleOf({ integrations: { All: false } }, { name: "All" }), "integration_disabled");
    assert.equal(ruleOf({ integrations: { All: true, Webhooks: false } }, { name: "All" }), null);
    assert.equal(ruleOf({ integrations: { Webhooks: true, All: false } }, { name: "Webhooks" }), null);
  });

  for (const name of ["constructor", "__proto__", "toString", "hasOwnProperty"]) {
    it(`is not misled by a destination named ${name}`, () => {
      assert.equal(ruleOf({ integrations: { All: false } }, { name }), "all_integrations_disabled");
      assert.equal(ruleOf({ integrations: JSON.parse(`{"All":false,"${name}":true}`) }, { name }), null);
      assert.equal(ruleOf({ integrations: JSON.parse(`{"${name}":false}`) }, { name }), "integration_disabled");
    });
  }
});

describe("a deletion (SPEC.md 6)", () => {
  const notice = { type: "delete", integrations: { All: false }, timestamp: "2001-01-01T00:00:00.000Z" } as const;

  it("goes to every enabled destination of the source, whatever it has selected", () => {
    assert.equal(ruleOf(notice, { types: ["track"], historical: "skip" }), null);
    assert.equal(ruleOf(notice, { types: [] }), null);
  });

  it("does not go to a disabled destination, or to one of other sources", () => {
    assert.equal(ruleOf(notice, { enabled: false }), "destination_disabled");
    assert.equal(ruleOf(notice, { sources: ["app"] }), "source_not_selected");
  });
});

describe("an event that is history (SPEC.md 4.3 rule 5)", () => {
  function aged(age: number): Partial<Event> {
    return { timestamp: new Date(RECEIVED_AT - age).toISOString() };
  }

  it("is older than 24 hours at its receipt, to the millisecond", () => {
    const rules = [DAY - 1, DAY, DAY + 1].map((age) => ruleOf(aged(age), { historical: "skip" }));
    assert.deepEqual(rules, [null, null, "historical"]);
  });

  it("goes where history is accepted", () => assert.equal(ruleOf(aged(9_000 * DAY), { historical: "accept" }), null));

  it("is not one that lies ahead", () => assert.equal(ruleOf(aged(-9_000 * DAY), { historical: "skip" }), null));
});
