// Node 20 lacks this one method, which the durations of the false clock are read with. The library does without it: its
// compiler knows only what Node 20 has (tsconfig.client.json).
const matches = Object.getPrototypeOf("".matchAll(/./g));
if (!("reduce" in matches)) {
  matches.reduce = function reduce(...args) {
    return [...this].reduce(...args);
  };
}
