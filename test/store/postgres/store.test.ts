import { describeStore } from "../conformance.ts";
import { ABILITIES, openEngine, openOn } from "./bed.ts";
import { startPglite } from "./pglite.ts";

describeStore("PostgreSQL (PGlite)", openOn(startPglite, openEngine), ABILITIES);
