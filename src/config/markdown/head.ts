import { FIXED_KEYS } from "../changes.ts";
import { REFERENCE_FORMS } from "../references.ts";
import { enumerate, link, prose } from "./words.ts";

/** What the reference says before it comes to the keys. */
export function headParts(): readonly string[] {
  return [...fileParts(), "## Values", ...valueParts(), "## Changes", changes()];
}

function fileParts(): readonly string[] {
  return [
    "<!-- Written by `make reference` from src/config/sections/: change it there. -->",
    "# The config file",
    prose(`Fairlead reads one YAML file: the one that \`--config\` names, else \`$FAIRLEAD_CONFIG\`, else \`./config.yaml\`, else
      \`/etc/fairlead/config.yaml\`. Every key has a default but a few of your sources and destinations, so that a short
      file does. [config.example.yaml](../config.example.yaml) shows all of them in their places.`),
    [
      "```sh",
      "fairlead check             # every mistake at once, with its line, column and remedy",
      "fairlead check --explain   # every key with the value that counts, and where it comes from",
      "```",
    ].join("\n"),
    prose(`Editors with the YAML language server complete, explain and check the file as you write, if its first line is
      \`# yaml-language-server: $schema=fairlead.schema.json\` and what \`fairlead schema\` prints lies beside it under that
      name.`),
  ];
}

function valueParts(): readonly string[] {
  return [
    prose(`Durations are written \`250ms\`, \`5s\`, \`10m\`, \`4h\`, \`30d\` or \`1h30m\`; sizes \`512MB\` or \`1.5GB\`, in powers of
      1,024 (\`1GiB\` is the same as \`1GB\`). Names of sources and destinations are 1 to 64 letters, digits, hyphens, underscores and dots. Unknown keys,
      keys that are there twice, and anchors, aliases and tags of YAML are errors.`),
    prose("Any text may refer to something outside of the file, so that it needs to hold no secrets:"),
    ["| reference | what it stands for |", "|---|---|", ...REFERENCE_FORMS.map(referenceRow)].join("\n"),
    prose(`Inside of \`{ }\` and \`[ ]\` such a text must be in quotes. What is missing is an error at its place; a secret file,
      or a config with a secret in it, that every user can read is a warning. So is \`$NAME\` or \`{{ NAME }}\`, which
      nothing fills in. systemd gives credentials to the unit alone: \`fairlead check\`, run outside of
      it, warns that it cannot check them.`),
  ];
}

function referenceRow([form, meaning]: readonly [string, string]): string {
  return `| \`${form}\` | ${meaning.replace("just ${", "just `${`")} |`;
}

function changes(): string {
  return prose(`A running daemon reads the file again within two seconds of a change to it, or to a secret or certificate file
    that it names; on SIGHUP; and on \`fairlead reload\`. It is all or nothing: with an error, the config that it had stays
    in force, and the log has the problems. ${enumerate(FIXED_KEYS.map(link))} keep their old values until a restart; the
    log and \`fairlead reload\` say so. Environment variables and systemd's credentials are those that the daemon was started
    with. A file has to stand still for 0.7 seconds before it is read; what writes it more slowly than that should write
    another one beside it, and rename that.`);
}
