// A name server: `name-server.ts ADDRESS NAME …` knows these names, all of them at its own address, and says of all others
// that there are none.
import process from "node:process";

const TYPE_A = 1;
const HEADER = 12;
const [, , address = "", ...known] = process.argv;

/** What is asked, and where the question ends. */
function readQuestion(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = HEADER;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join("."), type: query.readUInt16BE(at + 1), end: at + 5 };
}

function answer(query: Buffer): Buffer {
  const { name, type, end } = readQuestion(query);
  const isKnown = known.includes(name);
  const found = isKnown && type === TYPE_A;
  const reply = Buffer.from(query.subarray(0, end));
  // An answer, from who may give it; or NXDOMAIN.
  reply.writeUInt16BE(isKnown ? 0x8580 : 0x8583, 2);
  reply.writeUInt16BE(Number(found), 6);
  reply.fill(0, 8, HEADER);
  if (!found) return reply;
  const record = Buffer.from([0xc0, HEADER, 0, TYPE_A, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split(".").map(Number)]);
  return Buffer.concat([reply, record]);
}

await Bun.udpSocket({
  hostname: address,
  port: 53,
  socket: { data: (socket, query, port, from) => void socket.send(answer(Buffer.from(query)), port, from) },
});
console.log("answering");
