import { open, rename, rm, writeFile } from "node:fs/promises";
import { reasonOf } from "./files.ts";

/** Only its owner may read what a command keeps beside a file: that may hold personal data. */
const MODE = 0o600;

/** Writes a file anew, whole or not at all: whoever reads it finds the old text or the new one. Rejects in words. */
export async function replaceFile(path: string, text: string): Promise<void> {
  const beside = `${path}.new`;
  await inWords(path, async () => {
    await writeFile(beside, text, { mode: MODE });
    await rename(beside, path);
  });
}

/** Writes text at this place of a file, which ends after it; the file is made if there is none. Answers its length. */
export async function writeFileAt(path: string, at: number, text: string): Promise<number> {
  return inWords(path, async () => {
    const file = await open(path, at === 0 ? "w" : "r+", MODE);
    try {
      const bytes = Buffer.from(text);
      for (let done = 0; done < bytes.length; ) {
        done += (await file.write(bytes, done, bytes.length - done, at + done)).bytesWritten;
      }
      await file.truncate(at + bytes.length);
      return at + bytes.length;
    } finally {
      await file.close();
    }
  });
}

/** Removes a file; none is fine. Rejects in words. */
export async function removeFile(path: string): Promise<void> {
  await inWords(path, () => rm(path, { force: true }));
}

async function inWords<T>(path: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw new Error(`cannot write ${path}: ${reasonOf(error, path)}`, { cause: error });
  }
}
