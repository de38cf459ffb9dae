import { MINUTE } from "../../../src/model/units.ts";
import { PACE, type Pace } from "../../../src/store/postgres/claims.ts";
import { openPostgres } from "../../../src/store/postgres/store.ts";
import { describeStore } from "../conformance.ts";
import { ABILITIES, openOn } from "./bed.ts";
import { startPglite } from "./pglite.ts";

/** Hours pass in these tests: daemons that are alone speak less often, so that that is quick. */
const SLOW: Pace = { beat: 20 * MINUTE, silence: 60 * MINUTE, look: 20 * MINUTE };

let opened = 0;

function openAt(pace: Pace) {
  return openOn(startPglite, (place) => {
    opened += 1;
    return openPostgres({ ...place, pace, name: `daemon-${opened}`, about: "{}" });
  });
}

describeStore("PostgreSQL (PGlite)", openAt(SLOW), { ...ABILITIES, together: openAt(PACE) });
