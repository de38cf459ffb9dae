import { describeStore } from "/work/main/test/store/conformance.ts";
import { ABILITIES, openOn } from "/work/main/test/store/postgres/bed.ts";
import { startPglite } from "/work/main/test/store/postgres/pglite.ts";
import { openPostgres } from "/work/main/src/store/postgres/store.ts";
let n = 0;
describeStore("PGlite", openOn(startPglite, (place) => openPostgres({ ...place, name: `d${(n += 1)}`, about: "{}" })), ABILITIES);
