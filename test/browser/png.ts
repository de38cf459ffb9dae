import { Buffer } from "node:buffer";
import { crc32, deflateSync, inflateSync } from "node:zlib";

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const MOST_COLOURS = 128;

/** The same picture with at most 128 colours, which is a fraction of the size: a page has few, and shades of its text. */
export function withPalette(png: Buffer): Buffer {
  const { width, height, pixels } = decode(png);
  const palette = commonest(pixels);
  const indices = new Map(palette.map((colour, index) => [colour, index]));
  const rows = Buffer.alloc((width + 1) * height);
  for (let nth = 0; nth < pixels.length; nth += 1) {
    const colour = pixels[nth] ?? 0;
    let index = indices.get(colour);
    if (index === undefined) {
      index = nearest(palette, colour);
      indices.set(colour, index);
    }
    // Each row begins with its filter: none.
    rows[nth + Math.floor(nth / width) + 1] = index;
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3], 8);
  const colours = Buffer.from(palette.flatMap(channelsOf));
  const data = deflateSync(rows, { level: 9, memLevel: 9 });
  return Buffer.concat([SIGNATURE, chunk("IHDR", header), chunk("PLTE", colours), chunk("IDAT", data), chunk("IEND")]);
}

type Picture = { readonly width: number; readonly height: number; readonly pixels: Uint32Array };

/** Of what Chromium writes: eight bits, RGB or RGBA, in one piece. */
function decode(png: Buffer): Picture {
  const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)];
  const size = png[25] === 6 ? 4 : 3;
  const data: Buffer[] = [];
  for (let at = SIGNATURE.length; at < png.length; at += 12 + png.readUInt32BE(at)) {
    if (png.toString("latin1", at + 4, at + 8) === "IDAT") {
      data.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
    }
  }
  const rows = unfilter(inflateSync(Buffer.concat(data)), width * size, size);
  const pixels = new Uint32Array(width * height);
  for (let nth = 0; nth < pixels.length; nth += 1) pixels[nth] = rows.readUIntBE(nth * size, 3);
  return { width, height, pixels };
}

/** Adds to each byte what its filter has left out: the byte to the left, above, or what is between them. */
function unfilter(filtered: Buffer, length: number, size: number): Buffer {
  const height = filtered.length / (length + 1);
  const rows = Buffer.alloc(length * height);
  for (let row = 0; row < height; row += 1) {
    const filter = filtered[row * (length + 1)] ?? 0;
    for (let column = 0; column < length; column += 1) {
      const at = row * length + column;
      const left = column < size ? 0 : (rows[at - size] ?? 0);
      const above = row === 0 ? 0 : (rows[at - length] ?? 0);
      const corner = column < size || row === 0 ? 0 : (rows[at - length - size] ?? 0);
      const guess = [0, left, above, (left + above) >> 1, paeth(left, above, corner)][filter] ?? 0;
      rows[at] = (filtered[at + row + 1] ?? 0) + guess;
    }
  }
  return rows;
}

/** The one of three that is closest to their trend. */
function paeth(left: number, above: number, corner: number): number {
  const trend = left + above - corner;
  const [toLeft, toAbove, toCorner] = [Math.abs(trend - left), Math.abs(trend - above), Math.abs(trend - corner)];
  if (toLeft <= toAbove && toLeft <= toCorner) return left;
  return toAbove <= toCorner ? above : corner;
}

function commonest(pixels: Uint32Array): readonly number[] {
  const counts = new Map<number, number>();
  for (const colour of pixels) counts.set(colour, (counts.get(colour) ?? 0) + 1);
  const sorted = [...counts].sort(([, one], [, other]) => other - one);
  return sorted.slice(0, MOST_COLOURS).map(([colour]) => colour);
}

function nearest(palette: readonly number[], colour: number): number {
  const wanted = channelsOf(colour);
  const distances = palette.map((one) =>
    channelsOf(one).reduce((sum, value, nth) => sum + (value - (wanted[nth] ?? 0)) ** 2, 0),
  );
  return distances.indexOf(Math.min(...distances));
}

function channelsOf(colour: number): number[] {
  return [colour >> 16, (colour >> 8) & 0xff, colour & 0xff];
}

function chunk(name: string, data: Buffer = Buffer.alloc(0)): Buffer {
  const named = Buffer.concat([Buffer.from(name, "latin1"), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, sum]);
}
