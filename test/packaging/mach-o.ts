import { createHash } from "node:crypto";

const LC_CODE_SIGNATURE = 0x1d;
const CODE_DIRECTORY = 0xfade0c02;
const HEADER = 32;

/**
 * How many pages of a program for macOS (64-bit Mach-O) its code signature covers, and how many of them have another hash than it
 * says. macOS on arm64 starts no program whose pages differ. Throws if there is no signature.
 */
export function checkSignature(program: Buffer): { readonly pages: number; readonly wrong: number } {
  const directory = codeDirectoryOf(program);
  const hashesAt = directory.readUInt32BE(16);
  const pages = directory.readUInt32BE(28);
  const limit = directory.readUInt32BE(32);
  const hashSize = directory.readUInt8(36);
  const pageSize = 1 << directory.readUInt8(39);
  let wrong = pages === Math.ceil(limit / pageSize) ? 0 : 1;
  for (let page = 0; page < pages; page++) {
    const bytes = program.subarray(page * pageSize, Math.min((page + 1) * pageSize, limit));
    const at = hashesAt + page * hashSize;
    const hash = createHash("sha256").update(bytes).digest();
    if (!hash.subarray(0, hashSize).equals(directory.subarray(at, at + hashSize))) wrong++;
  }
  return { pages, wrong };
}

function codeDirectoryOf(program: Buffer): Buffer {
  const signature = program.subarray(signatureAt(program));
  for (let blob = 0; blob < signature.readUInt32BE(8); blob++) {
    const found = signature.subarray(signature.readUInt32BE(16 + blob * 8));
    if (found.readUInt32BE(0) === CODE_DIRECTORY) return found;
  }
  throw new Error("its signature has no code directory");
}

function signatureAt(program: Buffer): number {
  let at = HEADER;
  for (let command = 0; command < program.readUInt32LE(16); command++) {
    if (program.readUInt32LE(at) === LC_CODE_SIGNATURE) return program.readUInt32LE(at + 8);
    at += program.readUInt32LE(at + 4);
  }
  throw new Error("it has no code signature");
}
