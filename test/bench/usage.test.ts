import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { createFlushCounter } from "../../bench/usage.ts";

const TRACE = `71 fdatasync(5) = 0
71 fsync(6 <unfinished ...>
72 fdatasync(7) = 0
71 <... fsync resumed>) = 0
72 +++ exited with 0 +++
`;

it("counts the fsyncs of a traced server once, also those that others come between", () => {
  const data = mkdtempSync(join(tmpdir(), "fairlead-bench-"));
  writeFileSync(join(data, "fsyncs"), TRACE);
  assert.equal(createFlushCounter({ data, traced: true }, data)(), 3);
  rmSync(data, { recursive: true });
});
