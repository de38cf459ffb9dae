import { describeStore } from "../conformance.ts";
import { openSqlite } from "./start.ts";

describeStore("SQLite", openSqlite, { shared: false, clock: "machine", frees: true });
