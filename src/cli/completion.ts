import { Argument, type Command } from "commander";
import { print } from "../runtime/output.ts";
import { type Done, EXIT } from "./command.ts";
import {
  type ArgumentRow,
  type CommandRow,
  describeCommand,
  listCommands,
  longestName,
  type OptionRow,
  type Value,
} from "./command-table.ts";
import { addHelp } from "./help.ts";

/** The completion script of each shell. */
export const COMPLETIONS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const satisfies Record<
  string,
  (program: CommandRow) => string
>;
type Shell = keyof typeof COMPLETIONS;

/** `fairlead completion SHELL`: prints the completion script for a shell. */
export function declareCompletion(program: Command, done: Done): void {
  const command = program
    .command("completion")
    .summary("print the completion script of a shell")
    .description("Print the script that completes commands, options and names in a shell. Packages install it.")
    .addArgument(new Argument("<shell>", "bash, zsh or fish").choices(Object.keys(COMPLETIONS)));
  addHelp(command, {
    examples: [
      "source <(fairlead completion bash)",
      "fairlead completion fish > ~/.config/fish/completions/fairlead.fish",
    ],
    notes: "Put the first line into ~/.bashrc; for zsh, with zsh in the place of bash, into ~/.zshrc after compinit.",
  }).action((shell: Shell) => {
    print(COMPLETIONS[shell](describeCommand(program)).trimEnd());
    return done(EXIT.done);
  });
}

/** The completion script for bash. It needs nothing but bash. */
export function bashCompletion(program: CommandRow): string {
  return BASH_SCRIPT.replace("TABLE", () => listCommands(program).map(bashEntry).join("\n"));
}

function bashEntry({ path, options, args, commands }: CommandRow): string {
  const taking = (kind: string): string =>
    options
      .filter(({ value }) => value?.kind === kind)
      .flatMap(({ names }) => names)
      .join(" ");
  const words = args.flatMap(({ value }) => (value.kind === "words" ? value.words : []));
  const known = {
    commands: commands.map((one) => one.path.at(-1)).join(" "),
    options: options.flatMap(({ names }) => names).join(" "),
    files: taking("file"),
    destinations: optionsTaking(options, "destinations"),
    sources: optionsTaking(options, "sources"),
    texts: [taking("text"), taking("words")].filter((names) => names !== "").join(" "),
    words: words.join(" "),
    arguments:
      args.map(({ value }) => BASH_ARGUMENTS[value.kind === "names" ? value.of : value.kind]).find(Boolean) ?? "",
  };
  const assignments = Object.entries(known).filter(([, value]) => value !== "");
  return `  '${path.join(" ")}')\n${assignments.map(([name, value]) => `    ${name}='${value}'\n`).join("")}    ;;`;
}

/** Arguments completed from files or names. No command has arguments of both kinds. */
const BASH_ARGUMENTS: Readonly<Record<string, string>> = {
  file: "files",
  destinations: "destinations",
  sources: "sources",
};

function optionsTaking(options: readonly OptionRow[], of: string): string {
  const taking = options.filter(({ value }) => value?.kind === "names" && value.of === of);
  return taking.flatMap(({ names }) => names).join(" ");
}

const BASH_SCRIPT = `# bash completion for fairlead, as \`fairlead completion bash\` prints it.

# What can follow a command: its commands, its options, which of them take a file, a name or another text, and its arguments.
_fairlead_know() {
  commands='' options='' files='' destinations='' sources='' texts='' words='' arguments=''
  case $1 in
TABLE
  esac
}

_fairlead() {
  local commands options files destinations sources texts words arguments
  local current=\${COMP_WORDS[COMP_CWORD]} path='' wants='' word at
  _fairlead_know ''
  for ((at = 1; at < COMP_CWORD; at++)); do
    word=\${COMP_WORDS[at]}
    # bash makes three words of --config=FILE.
    if [[ -n $wants ]]; then
      [[ $word == = ]] || wants=''
    elif [[ " $files " == *" $word "* ]]; then
      wants=files
    elif [[ " $destinations " == *" $word "* ]]; then
      wants=destinations
    elif [[ " $sources " == *" $word "* ]]; then
      wants=sources
    elif [[ " $texts " == *" $word "* ]]; then
      wants=text
    elif [[ $word != -* && " $commands " == *" $word "* ]]; then
      path="\${path:+$path }$word"
      _fairlead_know "$path"
    fi
  done
  [[ -n $wants && $current == = ]] && current=''
  COMPREPLY=()
  if [[ $wants == text ]]; then
    return 0
  fi
  if [[ -z $wants && $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
    return 0
  fi
  if [[ -z $wants ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$commands $words" -- "$current")
  fi
  case \${wants:-$arguments} in
    files)
      compopt -o filenames 2>/dev/null
      mapfile -t -O "\${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$current")
      ;;
    destinations | sources)
      local names
      names=$("\${COMP_WORDS[0]}" names "\${wants:-$arguments}" 2>/dev/null)
      mapfile -t -O "\${#COMPREPLY[@]}" COMPREPLY < <(compgen -W "$names" -- "$current")
      ;;
  esac
}

complete -F _fairlead fairlead
`;

/** The completion script for fish. */
export function fishCompletion(program: CommandRow): string {
  const all = listCommands(program);
  const paths = all.slice(1).map(({ path }) => fishQuote(path.join(" ")));
  const valued = all.flatMap(({ path, options }) =>
    options
      .filter(({ value }) => value !== null)
      .flatMap(({ names }) => names.map((name) => fishQuote([...path, name].join(" ")))),
  );
  return `${FISH_SCRIPT.replace("PATHS", () => paths.join(" ")).replace("VALUED", () => valued.join(" "))}
${all.flatMap(fishLines).join("\n")}
`;
}

const FISH_SCRIPT = `# fish completion for fairlead, as \`fairlead completion fish\` prints it.

# Whether what stands before the cursor ends with this command; options and their values do not count.
function __fairlead_at --argument-names wanted
    set -l paths PATHS
    set -l valued VALUED
    set -l path ''
    set -l is_value 0
    for word in (commandline --tokenize --cut-at-cursor --current-process)[2..-1]
        if test $is_value = 1
            set is_value 0
        else if contains -- (string trim -- "$path $word") $valued
            set is_value 1
        else if contains -- (string trim -- "$path $word") $paths
            set path (string trim -- "$path $word")
        end
    end
    test "$path" = "$wanted"
end

# No files but where they are asked for.
complete -c fairlead -f
`;

function fishLines({ path, options, args, commands }: CommandRow): readonly string[] {
  const at = `complete -c fairlead -n ${fishQuote(`__fairlead_at ${fishQuote(path.join(" "))}`)}`;
  return [
    ...commands.map((one) => `${at} -a ${one.path.at(-1)} -d ${fishQuote(one.summary)}`),
    ...args.flatMap(({ value, description }) => {
      if (value.kind === "file") return [`${at} -F`];
      if (value.kind === "names") return [`${at} -a ${fishQuote(fishNames(value.of))} -d ${fishQuote(description)}`];
      return value.kind === "words"
        ? [`${at} -a ${fishQuote(value.words.join(" "))} -d ${fishQuote(description)}`]
        : [];
    }),
    ...options.map((option) => `${at} ${fishOption(option)}`),
  ];
}

function fishOption({ names, value, description }: OptionRow): string {
  const named = names.map((name) => (name.startsWith("--") ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`));
  return [...named, ...(value ? [fishValue(value)] : []), `-d ${fishQuote(description)}`].join(" ");
}

function fishValue(value: Value): string {
  if (value.kind === "file") return "-r -F";
  if (value.kind === "names") return `-x -a ${fishQuote(fishNames(value.of))}`;
  return value.kind === "words" ? `-x -a ${fishQuote(value.words.join(" "))}` : "-x";
}

/** Runs when Tab is pressed. */
function fishNames(of: string): string {
  return `(fairlead names ${of} 2>/dev/null)`;
}

/** In single quotes, where fish knows only two escapes. */
function fishQuote(text: string): string {
  return `'${text.replace(/[\\']/g, String.raw`\$&`)}'`;
}

/** The completion script for zsh: a file `_fairlead` in its $fpath, or to be sourced. */
export function zshCompletion(program: CommandRow): string {
  return [ZSH_HEAD, ...listCommands(program).map(zshFunction), ZSH_FOOT].join("\n");
}

const ZSH_HEAD = `#compdef fairlead
# zsh completion for fairlead, as \`fairlead completion zsh\` prints it.

_fairlead_names() {
  local -a names=(\${(f)"$(_call_program names fairlead names $1 2>/dev/null)"})
  compadd -a names
}
`;

/** In $fpath, the file is the body of the function itself. */
const ZSH_FOOT = `if [[ "\${funcstack[1]}" == _fairlead ]]; then
  _fairlead "$@"
else
  compdef _fairlead fairlead
fi
`;

function zshFunction(row: CommandRow): string {
  const specs = row.options.map(zshOption);
  return row.commands.length > 0 ? zshParent(row, specs) : zshLeaf(row, specs);
}

function zshLeaf(row: CommandRow, specs: readonly string[]): string {
  const all = [...specs, ...row.args.map(zshArgument)];
  return `${zshName(row)}() {\n  _arguments \\\n    ${all.join(" \\\n    ")}\n}\n`;
}

function zshParent(row: CommandRow, specs: readonly string[]): string {
  const listed = row.commands.map((one) => zshQuote(`${one.path.at(-1)}:${one.summary}`));
  const cases = row.commands.map((one) => `      ${one.path.at(-1)}) ${zshName(one)} && ret=0 ;;`);
  return `${zshName(row)}() {
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

function zshName({ path }: CommandRow): string {
  return ["_fairlead", ...path].join("_");
}

function zshOption(option: OptionRow): string {
  const description = `[${zshBracketed(option.description)}]`;
  if (option.value) return zshQuote(`${longestName(option)}=${description}:${zshValue(option.value)}`);
  const { names } = option;
  if (names.length < 2) return zshQuote(`${names[0]}${description}`);
  return `${zshQuote(`(${names.join(" ")})`)}{${names.join(",")}}${zshQuote(description)}`;
}

function zshArgument({ variadic, value }: ArgumentRow, at: number): string {
  // Without the guard, zsh does not complete options where an argument may stand.
  const spec = value.kind === "text" ? 'value:_guard "^-*" value' : zshValue(value);
  return zshQuote(`${variadic ? "*" : at + 1}:${spec}`);
}

function zshValue(value: Value): string {
  if (value.kind === "file") return "file:_files";
  if (value.kind === "names") return `name: _fairlead_names ${value.of}`;
  return value.kind === "words" ? `value:(${value.words.join(" ")})` : "value: ";
}

/** For the description of an option, which ends at a bracket. */
function zshBracketed(text: string): string {
  return text.replace(/[\\[\]:]/g, String.raw`\$&`);
}

function zshQuote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
