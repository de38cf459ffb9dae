import { fuzzList } from "./lists.ts";

fuzzList({
  name: "json-lines",
  type: "application/x-ndjson",
  seeds: [
    '"u1"\n"u2"\n',
    '{"userId":"u1","value":5}\r\n\r\n{"userId":7,"value":null}',
    '["u1",1e999]\n["u2",true]\n',
    '\uFEFF["u1","a \\ud83d\\ude42"]\n',
  ],
  pieces: [
    '"u1"',
    '{"userId":',
    '"value":',
    "{",
    "}",
    "[",
    "]",
    ",",
    "5",
    "12345678901234567890",
    "null",
    "true",
    "\n",
    "\n",
    "\r\n",
    "\\",
    '"',
  ],
  harmless: '{"userId":"u1","value":"x"}\n',
  members: [
    '{"userId":"u1","value":5}',
    '["u\\"2","\\n"]',
    ' {"userId":"é\\ud83d\\ude42","value":"}"} ',
    '["🙂",true]',
  ],
  listOf: (members) => members.join("\r\n"),
});
