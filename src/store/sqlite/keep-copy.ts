import type { BeginFile } from "../../model/new-file.ts";
import type { Disk } from "../../model/space.ts";
import type { Migrating } from "../../model/supervisor.ts";
import { formatSize } from "../../model/units.ts";
import { checkCopy, copyPages } from "./copy.ts";
import type { Database } from "./driver.ts";
import { isLarge, type Step, schemaOf, sizeOf, unfinishedStep } from "./migrate.ts";

/** What keeping a copy asks of the world. */
export type CopyWorld = {
  /** Left out, none is kept. */
  readonly beginFile?: BeginFile | undefined;
  readonly disk: Pick<Disk, "space" | "size">;
  /** Bytes of the disk that are to stay free. */
  readonly freeDisk: number;
  readonly migrating?: Migrating | undefined;
};

/** There is no room for the copy. */
export class NoRoom extends Error {
  readonly code = "no_room_for_copy";
}

/** Where the copy of a store is kept that had this schema, until the operator removes it. */
export function copyOf(path: string, schema: number): string {
  return `${path}.schema-${schema}`;
}

/**
 * Copies a store before a large step rewrites it: whatever becomes of that, or of the version behind it, there is a way
 * back. Not when such a step is only gone on with: then there is one already. Of each schema one copy is kept, the last.
 */
export async function keepCopy(db: Database, path: string, by: CopyWorld & { readonly steps: readonly Step[] }) {
  const { beginFile, steps, migrating } = by;
  const schema = schemaOf(db, steps.length);
  const isNeeded = schema > 0 && unfinishedStep(db) === null && steps.slice(schema).some(isLarge);
  if (!isNeeded || !beginFile) return;
  const target = copyOf(path, schema);
  const bytes = sizeOf(db);
  await requireRoom({ ...by, path, target, bytes, schema });
  migrating?.({ step: schema + 1, of: steps.length, bytes, copy: target });
  const file = beginFile(target);
  try {
    await copyPages(db, file);
    const checked = await checkCopy(file.path, { newest: steps.length, depth: "quick" });
    if ("code" in checked) throw new Error(`the copy that is kept first is damaged: ${checked.message}`);
    file.keep();
  } finally {
    file.drop();
  }
}

type Wanted = CopyWorld & {
  readonly path: string;
  readonly target: string;
  readonly bytes: number;
  readonly schema: number;
  readonly steps: readonly Step[];
};

async function requireRoom({ disk, freeDisk, path, target, bytes, schema, steps }: Wanted): Promise<void> {
  const space = await disk.space(path).catch(() => null);
  // Where nobody can say, the copy itself finds out.
  if (space === null || space.free >= bytes + freeDisk) return;
  const spared = freeDisk > 0 ? `, of which outbox.freeDisk spares ${formatSize(freeDisk)}` : "";
  throw new NoRoom(
    `it has to be brought up to date (schema ${schema} to ${steps.length}), and the copy that is kept first, ${target}, ` +
      `needs ${formatSize(bytes)}, but ${formatSize(space.free)} are free there${spared}; make room, or copy it elsewhere with the ` +
      "Fairlead that wrote it (fairlead backup FILE), and then start once with fairlead serve --no-copy",
  );
}
