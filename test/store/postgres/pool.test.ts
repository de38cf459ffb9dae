import { after, describe } from "node:test";
import { describePool } from "./describe-pool.ts";
import { NO_SERVER, startServer, stopServer } from "./server.ts";

describe("a real server", { skip: NO_SERVER }, () => {
  after(stopServer);
  describePool("PostgreSQL", startServer);
});
