import { type CommandRow, listCommands, type OptionRow, type Value } from "./table.ts";

/** The completion script for fish. */
export function fishCompletion(program: CommandRow): string {
  const all = listCommands(program);
  const paths = all.slice(1).map(({ path }) => quote(path.join(" ")));
  const valued = all.flatMap(({ path, options }) =>
    options
      .filter(({ value }) => value !== null)
      .flatMap(({ names }) => names.map((name) => quote([...path, name].join(" ")))),
  );
  return `${SCRIPT.replace("PATHS", () => paths.join(" ")).replace("VALUED", () => valued.join(" "))}
${all.flatMap(toLines).join("\n")}
`;
}

const SCRIPT = `# fish completion for fairlead, as \`fairlead completion fish\` prints it.

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

function toLines({ path, options, args, commands }: CommandRow): readonly string[] {
  const at = `complete -c fairlead -n ${quote(`__fairlead_at ${quote(path.join(" "))}`)}`;
  return [
    ...commands.map((one) => `${at} -a ${one.path.at(-1)} -d ${quote(one.description)}`),
    ...args.flatMap(({ value, description }) => {
      if (value.kind === "file") return [`${at} -F`];
      if (value.kind === "names") return [`${at} -a ${quote(namesFor(value.of))} -d ${quote(description)}`];
      return value.kind === "words" ? [`${at} -a ${quote(value.words.join(" "))} -d ${quote(description)}`] : [];
    }),
    ...options.map((option) => `${at} ${optionArguments(option)}`),
  ];
}

function optionArguments({ names, value, description }: OptionRow): string {
  const named = names.map((name) => (name.startsWith("--") ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`));
  return [...named, ...(value ? [valueArguments(value)] : []), `-d ${quote(description)}`].join(" ");
}

function valueArguments(value: Value): string {
  if (value.kind === "file") return "-r -F";
  if (value.kind === "names") return `-x -a ${quote(namesFor(value.of))}`;
  return value.kind === "words" ? `-x -a ${quote(value.words.join(" "))}` : "-x";
}

/** Asked when Tab is pressed. */
function namesFor(of: string): string {
  return `(fairlead names ${of} 2>/dev/null)`;
}

/** In single quotes, where fish knows but two escapes. */
function quote(text: string): string {
  return `'${text.replace(/[\\']/g, String.raw`\$&`)}'`;
}
