import { describePool } from "./describe-pool.ts";
import { startPglite } from "./pglite.ts";

describePool("PGlite", startPglite);
