import {
  accessSync,
  constants,
  lchownSync,
  linkSync,
  lstatSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import process from "node:process";

/** What the system says of a file that is there. */
export type StoredFile = {
  readonly kind: "file" | "folder" | "other";
  readonly size: number;
  /** As text, equal for two names of one file only. */
  readonly identity: string;
  /** Equal for files of one file system only. */
  readonly device: string;
  /** Permissions, as 0o600. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly modifiedAt: number;
};

/** What is at a path, at the end of its symbolic links; null if nothing is, or nobody may know. */
export function storedFile(path: string): StoredFile | null {
  const stats = statOf(path);
  if (stats === undefined) return null;
  const { size, dev, ino, mode, uid, gid, mtimeMs } = stats;
  const kind = stats.isFile() ? "file" : stats.isDirectory() ? "folder" : "other";
  const place = { identity: `${dev} ${ino}`, device: String(dev) };
  return { kind, size, ...place, mode: mode & 0o7777, uid, gid, modifiedAt: mtimeMs };
}

export function isFolder(path: string): boolean {
  return storedFile(path)?.kind === "folder";
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

/** Whether this user may read and write what is at a path; or that nothing is. */
export function accessTo(path: string): "granted" | "denied" | "missing" {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return "granted";
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "ENOENT" ? "missing" : "denied";
  }
}

/** Whether every user of this machine may enter all folders above a path. */
export function isInOpenFolders(path: string): boolean {
  const above = dirname(path);
  const folder = storedFile(above);
  if (folder === null || (folder.mode & 0o001) === 0) return false;
  return above === path || above === "/" || isInOpenFolders(above);
}

/** The names in a folder; none if it cannot be read. */
export function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Where a path leads, also if the file itself is not there yet. Throws if a symbolic link leads to nothing. */
export function realPathOf(path: string): string {
  const isThere = lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  return isThere ? realpathSync(path) : join(realpathSync(dirname(path)), basename(path));
}

/** Whose symbolic link is at a path: its owner decides where it leads. Null if there is none. */
export function linkOwner(path: string): Pick<StoredFile, "uid" | "gid"> | null {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats?.isSymbolicLink() ? stats : null;
}

/**
 * Makes the owner of one the owner of a file, as far as this user may: what root makes would be closed to the daemon. Of a link,
 * never of what it leads to.
 */
export function giveTo({ uid, gid }: Pick<StoredFile, "uid" | "gid">, path: string): void {
  const now = storedFile(path);
  if (now === null || (now.uid === uid && now.gid === gid)) return;
  lchownSync(path, uid, gid);
}

/**
 * Gives a file another name beside its own one, so that something new can take that. Where the file system has no second
 * names, the file is moved. Throws if the other name is taken.
 */
export function keepAs(path: string, name: string): void {
  try {
    linkSync(path, name);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (!NO_LINKS.has(code)) throw error;
    renameSync(path, name);
  }
}

/** What file systems without hard links say (FAT, and some that are shared over a network). */
const NO_LINKS: ReadonlySet<string> = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"]);

export function moveFile(path: string, name: string): void {
  renameSync(path, name);
}

/** Removes a file, if it is there. */
export function dropFile(path: string): void {
  rmSync(path, { force: true });
}

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
