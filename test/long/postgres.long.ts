import { after, describe } from "node:test";
import { describeStore } from "../store/conformance.ts";
import { ABILITIES, openEngine, openOn } from "../store/postgres/bed.ts";
import { NO_SERVER, startServer, stopServer } from "../store/postgres/server.ts";

describe("a real server", { skip: NO_SERVER }, () => {
  after(stopServer);
  describeStore("PostgreSQL", openOn(startServer, openEngine), ABILITIES);
});
