import { type CommandRow, listCommands, type OptionRow } from "./table.ts";

/** The completion script for bash. It needs nothing but bash. */
export function bashCompletion(program: CommandRow): string {
  return SCRIPT.replace("TABLE", () => listCommands(program).map(entry).join("\n"));
}

function entry({ path, options, args, commands }: CommandRow): string {
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
    destinations: namesOf(options, "destinations"),
    sources: namesOf(options, "sources"),
    texts: [taking("text"), taking("words")].filter((names) => names !== "").join(" "),
    words: words.join(" "),
    arguments: args.map(({ value }) => ARGUMENTS[value.kind === "names" ? value.of : value.kind]).find(Boolean) ?? "",
  };
  const assignments = Object.entries(known).filter(([, value]) => value !== "");
  return `  '${path.join(" ")}')\n${assignments.map(([name, value]) => `    ${name}='${value}'\n`).join("")}    ;;`;
}

/** What completes an argument that is none of a few words. No command has arguments of two of these kinds. */
const ARGUMENTS: Readonly<Record<string, string>> = { file: "files", destinations: "destinations", sources: "sources" };

function namesOf(options: readonly OptionRow[], of: string): string {
  const taking = options.filter(({ value }) => value?.kind === "names" && value.of === of);
  return taking.flatMap(({ names }) => names).join(" ");
}

const SCRIPT = `# bash completion for fairlead, as \`fairlead completion bash\` prints it.

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
