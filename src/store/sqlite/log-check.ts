import type { Disk } from "../../model/disk.ts";
import { LARGEST_LOG } from "./files.ts";

/**
 * SQLite reads a write-ahead log up to the first frame with a wrong checksum, since a crash may have torn it there. It ignores what
 * follows in silence. After a crash nothing valid follows; after the disk has changed a byte, acknowledged commits do. The
 * format: https://sqlite.org/fileformat2.html#walformat
 */

const HEADER = 32;
const FRAME_HEADER = 24;
/** The magic number of a log whose checksums use little-endian words. */
const MAGIC = 0x377f0682;

type Sum = readonly [number, number];

/**
 * An error about the commits that SQLite will skip because of damage before them; null if there are none. To be called before
 * SQLite opens the file.
 */
export async function findLostCommits(
  path: string,
  disk: Pick<Disk, "size" | "read">,
  most = LARGEST_LOG,
): Promise<Error | null> {
  // A log that another program has kept growing is not checked, so that the start stays quick.
  if ((await disk.size(path)) > most) return null;
  const commits = commitsBehindDamage(await disk.read(path));
  // A power cut may leave the end of the last commit without its middle; that commit was not acknowledged.
  return commits > 1 ? lostCommits(path, commits - 1) : null;
}

/** How many commits end at a damaged place of the log or after it, so that SQLite skips them. */
function commitsBehindDamage(log: Uint8Array): number {
  const view = new DataView(log.buffer, log.byteOffset, log.byteLength);
  if (log.length < HEADER || view.getUint32(0) !== MAGIC || log.byteOffset % 4 !== 0) return 0;
  const words = new Int32Array(log.buffer, log.byteOffset, Math.floor(log.length / 4));
  const size = view.getUint32(8);
  const salt = view.getBigUint64(16);
  let before: Sum = [view.getInt32(24), view.getInt32(28)];
  let damaged = false;
  let commits = 0;
  for (let at = HEADER; at + FRAME_HEADER + size <= log.length; at += FRAME_HEADER + size) {
    const stored: Sum = [view.getInt32(at + 16), view.getInt32(at + 20)];
    // Frames of an earlier log have another salt.
    const isOurs = view.getBigUint64(at + 8) === salt;
    const isWell = isOurs && isSame(stored, sumOf(words, { at, size, before }));
    if (!isWell) damaged = true;
    if (damaged && isOurs && view.getUint32(at + 4) !== 0) commits += 1;
    // Each sum continues the stored sum of the frame before, which may be intact in a damaged frame.
    before = stored;
  }
  return commits;
}

type Frame = { readonly at: number; readonly size: number; readonly before: Sum };

/** The sum of the first eight bytes of the frame's header, and of its page. */
function sumOf(words: Int32Array, { at, size, before }: Frame): Sum {
  const page = (at + FRAME_HEADER) / 4;
  return add(words, [page, page + size / 4], add(words, [at / 4, at / 4 + 2], before));
}

function add(words: Int32Array, [from, to]: readonly [number, number], [first, second]: Sum): Sum {
  let [one, two] = [first, second];
  for (let place = from; place < to; place += 2) {
    one = (one + (words[place] ?? 0) + two) | 0;
    two = (two + (words[place + 1] ?? 0) + one) | 0;
  }
  return [one, two];
}

function isSame([one, two]: Sum, other: Sum): boolean {
  return one === other[0] && two === other[1];
}

function lostCommits(path: string, commits: number): Error {
  return new Error(
    `${path} is damaged: at least ${commits} commits after that place are lost, and their calls were acknowledged; ` +
      "the disk has changed stored data: check it (dmesg, smartctl), and have the last calls sent again",
  );
}
