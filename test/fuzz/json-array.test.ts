import { fuzzList } from "./lists.ts";

fuzzList({
  name: "json-array",
  type: "application/json",
  seeds: [
    '["u1", "u2", 3]',
    '[{"userId":"u1","value":[1,{"a":"]"}]}, {"userId":"u2","value":null}]\n',
    '\uFEFF [["u1","\\"],["], ["u2", -1.5e3]] ',
    "[]",
  ],
  pieces: ['"u1"', '{"userId":', '"value":', "{", "}", "[", "]", ",", ",", "5", "null", "true", "\n", " ", "\\", '"'],
  harmless: '["u1","x"],',
  members: ['{"userId":"u1","value":5}', '["u\\"2","]"]', ' {"userId":"é\\ud83d\\ude42","value":"}"} ', '["🙂",true]'],
  listOf: (members) => `[${members.join(",\n")}]`,
});
