import { type CommandRow, listCommands } from "./table.ts";

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
    texts: [taking("text"), taking("words")].filter((names) => names !== "").join(" "),
    words: words.join(" "),
    arguments: args.some(({ value }) => value.kind === "file") ? "files" : "",
  };
  const assignments = Object.entries(known).filter(([, value]) => value !== "");
  return `  '${path.join(" ")}')\n${assignments.map(([name, value]) => `    ${name}='${value}'\n`).join("")}    ;;`;
}

const SCRIPT = `# bash completion for fairlead, as \`fairlead completion bash\` prints it.

# What can follow a command: its commands, its options, which of them take a file or another text, and its arguments.
_fairlead_know() {
  commands='' options='' files='' texts='' words='' arguments=''
  case $1 in
TABLE
  esac
}

_fairlead() {
  local commands options files texts words arguments
  local current=\${COMP_WORDS[COMP_CWORD]} path='' wants='' word at
  _fairlead_know ''
  for ((at = 1; at < COMP_CWORD; at++)); do
    word=\${COMP_WORDS[at]}
    # bash makes three words of --config=FILE.
    if [[ -n $wants ]]; then
      [[ $word == = ]] || wants=''
    elif [[ " $files " == *" $word "* ]]; then
      wants=file
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
  if [[ $wants == file || $arguments == files ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t -O "\${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$current")
  fi
}

complete -F _fairlead fairlead
`;
