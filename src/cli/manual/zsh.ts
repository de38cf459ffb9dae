import { type ArgumentRow, type CommandRow, listCommands, longestName, type OptionRow, type Value } from "./table.ts";

/** The completion script for zsh: a file `_fairlead` in its $fpath, or to be sourced. */
export function zshCompletion(program: CommandRow): string {
  return [HEAD, ...listCommands(program).map(toFunction), FOOT].join("\n");
}

const HEAD = `#compdef fairlead
# zsh completion for fairlead, as \`fairlead completion zsh\` prints it.

_fairlead_names() {
  local -a names=(\${(f)"$(_call_program names fairlead names $1 2>/dev/null)"})
  compadd -a names
}
`;

/** As a file of $fpath it is the body of the function itself. */
const FOOT = `if [[ "\${funcstack[1]}" == _fairlead ]]; then
  _fairlead "$@"
else
  compdef _fairlead fairlead
fi
`;

function toFunction(row: CommandRow): string {
  const specs = row.options.map(optionSpec);
  return row.commands.length > 0 ? withCommands(row, specs) : withArguments(row, specs);
}

function withArguments(row: CommandRow, specs: readonly string[]): string {
  const all = [...specs, ...row.args.map(argumentSpec)];
  return `${nameOf(row)}() {\n  _arguments \\\n    ${all.join(" \\\n    ")}\n}\n`;
}

function withCommands(row: CommandRow, specs: readonly string[]): string {
  const listed = row.commands.map((one) => quote(`${one.path.at(-1)}:${one.description}`));
  const cases = row.commands.map((one) => `      ${one.path.at(-1)}) ${nameOf(one)} && ret=0 ;;`);
  return `${nameOf(row)}() {
  local curcontext="$curcontext" state line ret=1
  local -a commands=(
    ${listed.join("\n    ")}
  )
  _arguments -C \\
    ${[...specs, "'(-)1:command:->command'", "'(-)*::argument:->argument'"].join(" \\\n    ")} && ret=0
  case $state in
    command) _describe -t commands command commands && ret=0 ;;
    argument) case $line[1] in
${cases.join("\n")}
    esac ;;
  esac
  return ret
}
`;
}

function nameOf({ path }: CommandRow): string {
  return ["_fairlead", ...path].join("_");
}

function optionSpec(option: OptionRow): string {
  const description = `[${bracketed(option.description)}]`;
  if (option.value) return quote(`${longestName(option)}=${description}:${valueSpec(option.value)}`);
  const { names } = option;
  if (names.length < 2) return quote(`${names[0]}${description}`);
  return `${quote(`(${names.join(" ")})`)}{${names.join(",")}}${quote(description)}`;
}

function argumentSpec({ variadic, value }: ArgumentRow, at: number): string {
  // Without the guard, options are not completed where an argument may stand.
  const spec = value.kind === "text" ? 'value:_guard "^-*" value' : valueSpec(value);
  return quote(`${variadic ? "*" : at + 1}:${spec}`);
}

function valueSpec(value: Value): string {
  if (value.kind === "file") return "file:_files";
  if (value.kind === "names") return `name: _fairlead_names ${value.of}`;
  return value.kind === "words" ? `value:(${value.words.join(" ")})` : "value: ";
}

/** For the description of an option, which ends at a bracket. */
function bracketed(text: string): string {
  return text.replace(/[\\[\]:]/g, String.raw`\$&`);
}

function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
