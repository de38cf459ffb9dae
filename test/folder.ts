import { mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** An empty folder, which is removed when it is disposed of. */
export function makeFolder() {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "fairlead-test-")));
  return {
    folder,
    path: (name: string) => join(folder, name),
    names: () => readdirSync(folder).sort(),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true }),
  };
}
