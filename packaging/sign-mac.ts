import { createHash } from "node:crypto";

/**
 * A program for macOS (64-bit Mach-O) with a signature of its own hashes and no identity ("ad hoc"), as linkers write it. Bun leaves
 * that of its own makers in what it compiles for x64, where it is wrong after the program has changed: macOS may then end it.
 */
export function signAdHoc(program: Buffer): Buffer {
  const { signature, linkedit, text } = commandsOf(program);
  const codeLimit = program.readUInt32LE(signature + 8);
  const size = align(sizeOf(codeLimit), 16);
  const signed = Buffer.alloc(codeLimit + size);
  program.copy(signed, 0, 0, codeLimit);
  // The commands are within what is hashed, so they come first.
  signed.writeUInt32LE(size, signature + 12);
  const inFile = BigInt(signed.length) - signed.readBigUInt64LE(linkedit + FILE_OFFSET);
  signed.writeBigUInt64LE(inFile, linkedit + FILE_SIZE);
  signed.writeBigUInt64LE(BigInt(align(Number(inFile), 0x4000)), linkedit + MEMORY_SIZE);
  writeSignature(signed, codeLimit, { base: text + FILE_OFFSET, limit: text + FILE_SIZE });
  return signed;
}

const HEADER = 32;
const SEGMENT = 0x19;
const CODE_SIGNATURE = 0x1d;
/** Places within a command for a segment. */
const [MEMORY_SIZE, FILE_OFFSET, FILE_SIZE] = [32, 40, 48];

/** Where the commands for the signature and for two segments are in the file. */
function commandsOf(program: Buffer): { signature: number; linkedit: number; text: number } {
  const found = new Map<string, number>();
  let at = HEADER;
  for (let command = 0; command < program.readUInt32LE(16); command++) {
    const kind = program.readUInt32LE(at);
    if (kind === CODE_SIGNATURE) found.set("signature", at);
    if (kind === SEGMENT) found.set(program.toString("latin1", at + 8, at + 24).replaceAll("\0", ""), at);
    at += program.readUInt32LE(at + 4);
  }
  const find = (name: string): number => {
    const place = found.get(name);
    if (place === undefined) throw new Error(`the program for macOS has no ${name} to sign`);
    return place;
  };
  return { signature: find("signature"), linkedit: find("__LINKEDIT"), text: find("__TEXT") };
}

const IDENTIFIER = "fairlead\0";
const PAGE_BITS = 12;
const PAGE = 1 << PAGE_BITS;
const HASH = 32;
/** Of the table of contents, with one entry, and of the directory before the identifier. */
const [CONTENTS, DIRECTORY] = [20, 88];
const HASHES_AT = DIRECTORY + IDENTIFIER.length;

function sizeOf(codeLimit: number): number {
  return CONTENTS + HASHES_AT + Math.ceil(codeLimit / PAGE) * HASH;
}

/** As <kern/cs_blobs.h> has it: a code directory of version 2.4, and nothing else. */
function writeSignature(program: Buffer, codeLimit: number, text: { base: number; limit: number }): void {
  const pages = Math.ceil(codeLimit / PAGE);
  const length = sizeOf(codeLimit);
  const [ADHOC_BY_LINKER, SHA256, MAIN_PROGRAM] = [0x20002, 2, 1n];
  const contents = [0xfade0cc0, length, 1, 0, CONTENTS];
  const directory = [
    0xfade0c02,
    length - CONTENTS,
    0x20400,
    ADHOC_BY_LINKER,
    HASHES_AT,
    DIRECTORY,
    0,
    pages,
    codeLimit,
  ];
  const at = codeLimit + CONTENTS;
  for (const [index, word] of [...contents, ...directory].entries()) program.writeUInt32BE(word, codeLimit + index * 4);
  for (const [index, byte] of [HASH, SHA256, 0, PAGE_BITS].entries()) program.writeUInt8(byte, at + 36 + index);
  program.writeBigUInt64BE(program.readBigUInt64LE(text.base), at + 64);
  program.writeBigUInt64BE(program.readBigUInt64LE(text.limit), at + 72);
  program.writeBigUInt64BE(MAIN_PROGRAM, at + 80);
  program.write(IDENTIFIER, at + DIRECTORY, "latin1");
  for (let page = 0; page < pages; page++) {
    const bytes = program.subarray(page * PAGE, Math.min((page + 1) * PAGE, codeLimit));
    createHash("sha256")
      .update(bytes)
      .digest()
      .copy(program, at + HASHES_AT + page * HASH);
  }
}

function align(size: number, to: number): number {
  return Math.ceil(size / to) * to;
}
