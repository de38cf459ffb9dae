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
import { errorCode } from "./file-error.ts";

export type Owner = { readonly uid: number; readonly gid: number };

/** A file or folder that exists. */
export type StoredFile = Owner & {
  readonly kind: "file" | "folder" | "other";
  readonly size: number;
  /** Equal only for two names of the same file. */
  readonly identity: string;
  /** Equal only for files of the same file system. */
  readonly device: string;
  /** Permissions, as 0o600. */
  readonly mode: number;
  readonly modifiedAt: number;
};

/** The file at a path; null if there is none, or it cannot be seen. */
export function storedFile(path: string): StoredFile | null {
  let stats: Stats;
  try {
    stats = statSync(path);
  } catch {
    return null;
  }
  const { size, dev, ino, mode, uid, gid, mtimeMs } = stats;
  return {
    kind: stats.isFile() ? "file" : stats.isDirectory() ? "folder" : "other",
    size,
    identity: `${dev} ${ino}`,
    device: String(dev),
    mode: mode & 0o7777,
    uid,
    gid,
    modifiedAt: mtimeMs,
  };
}

export function isFolder(path: string): boolean {
  return storedFile(path)?.kind === "folder";
}

/** Whether this user may read and write what is at a path. */
export function accessTo(path: string): "granted" | "denied" | "missing" {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return "granted";
  } catch (error) {
    return errorCode(error) === "ENOENT" ? "missing" : "denied";
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

/** Where a path leads, even if the file itself does not exist yet. Throws if a symbolic link leads to nothing. */
export function realPathOf(path: string): string {
  const isThere = lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  return isThere ? realpathSync(path) : join(realpathSync(dirname(path)), basename(path));
}

/** The owner of the symbolic link at a path, who decides where it leads. Null if there is none. */
export function linkOwner(path: string): Owner | null {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats?.isSymbolicLink() ? stats : null;
}

/**
 * Gives a file to an owner, if this user may: the daemon could not open a file that root creates. Changes a link, never what
 * it leads to.
 */
export function giveTo({ uid, gid }: Owner, path: string): void {
  const now = storedFile(path);
  if (now === null || (now.uid === uid && now.gid === gid)) return;
  lchownSync(path, uid, gid);
}

/**
 * Gives a file a second name beside its own, so that something new can replace it. Where the file system has no hard links,
 * the file is moved. Throws if the name is taken.
 */
export function keepAs(path: string, name: string): void {
  try {
    linkSync(path, name);
  } catch (error) {
    if (!NO_LINKS.has(errorCode(error) ?? "")) throw error;
    renameSync(path, name);
  }
}

/** The errors of file systems without hard links (FAT, and some network file systems). */
const NO_LINKS: ReadonlySet<string> = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"]);

export function moveFile(path: string, name: string): void {
  renameSync(path, name);
}

/** Removes a file, if it is there. */
export function dropFile(path: string): void {
  rmSync(path, { force: true });
}

/**
 * Runs something as another user, if this process is root. The owner of a folder could otherwise lead root by links to any
 * file of the machine. Files that are open stay open. Does nothing for other users, or where the runtime cannot do it.
 */
export async function actAs<T>({ uid, gid }: Owner, run: () => Promise<T>): Promise<T> {
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
