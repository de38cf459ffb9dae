import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { assertDocumented, type Exchange } from "./documented.ts";

describe("the check that real answers are as the document says", () => {
  const ready: Exchange = {
    ...{ method: "GET", path: "/readyz", status: 200, type: "application/json" },
    text: '{"status":"ready"}',
  };
  const refusal = { success: false, code: "store_full", message: "m", error: "m" };
  const refused: Exchange = { ...ready, status: 503, text: JSON.stringify(refusal) };
  const discarded: Exchange = {
    ...{ method: "POST", path: "/api/destinations/crm/discard", status: 200, type: "application/json" },
    ...{ text: '{"success":true,"discarded":1,"more":false}', sent: '{"limit":1}' },
  };
  const listed: Exchange = { ...ready, path: "/api/rejected?limit=5", text: '{"rejected":[]}' };

  it("lets pass what is so", async () => {
    for (const exchange of [ready, refused, discarded, listed]) await assertDocumented(exchange);
    await assertDocumented({ ...refused, path: "/nowhere", status: 404 });
  });

  const wrong: Readonly<Record<string, Exchange>> = {
    "a key that is unknown": { ...ready, text: '{"status":"ready","extra":1}' },
    "a key that is unknown, deep within": { ...refused, text: JSON.stringify({ ...refusal, extra: 1 }) },
    "a key that is missing": { ...ready, text: "{}" },
    "a value of another type": { ...discarded, text: '{"success":true,"discarded":"1","more":false}' },
    "another word": { ...ready, text: '{"status":"well"}' },
    "a code that the route does not name": { ...refused, text: JSON.stringify({ ...refusal, code: "store_gone" }) },
    "a code of another status": { ...refused, text: JSON.stringify({ ...refusal, code: "unauthorized" }) },
    "a status that the route does not name": { ...refused, status: 404 },
    "another Content-Type": { ...ready, type: "text/html" },
    "something else where nothing is": { ...ready, path: "/nowhere" },
    "a query that was taken, though the document forbids it": { ...listed, path: "/api/rejected?limit=500" },
    "a parameter that was taken, though the document has none": { ...listed, path: "/api/rejected?lines=5" },
    "a body that was taken, though the document forbids it": { ...discarded, sent: '{"limit":5000}' },
  };
  for (const [what, exchange] of Object.entries(wrong)) {
    it(`finds ${what}`, () => assert.rejects(assertDocumented(exchange), /is not as \/openapi\.json says/));
  }
});
