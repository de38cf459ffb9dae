import process from "node:process";
import type { StoredFile } from "./stored-file.ts";

/**
 * Has root do something as another user, as whom it also makes files: who owns a folder could otherwise lead root, by links
 * in it, to any file of the machine. Of others, and where the runtime cannot do so, nothing changes. Files that were opened
 * before stay open.
 */
export async function actAs<T>({ uid, gid }: Pick<StoredFile, "uid" | "gid">, run: () => Promise<T>): Promise<T> {
  const { geteuid, getegid, seteuid, setegid } = process;
  if (!geteuid || !getegid || !seteuid || !setegid || geteuid() !== 0 || uid === 0) return await run();
  const before = getegid();
  setegid(gid);
  try {
    seteuid(uid);
    return await run();
  } finally {
    seteuid(0);
    setegid(before);
  }
}
