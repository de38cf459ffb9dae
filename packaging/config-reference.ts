// Writes docs/reference/config.md to standard output, from the schema of the config. Usage: bun packaging/config-reference.ts
import process from "node:process";
import * as v from "valibot";
import { Document, isScalar, stringify, visit } from "yaml";
import { FIXED_KEYS } from "../src/config/changes.ts";
import { formOf, leftOutOf, type Manual, manualOf, type Shape, shapeOf } from "../src/config/key.ts";
import { REFERENCE_FORMS } from "../src/config/references.ts";
import { configSchema } from "../src/config/schema.ts";
import { fill } from "./config-example.ts";

/** The text of docs/reference/config.md: the reference of every key, in Markdown. */
export function configMarkdown(entries?: Entries): string {
  const sections = sectionsOf(entries);
  const overview = table(sections.flatMap(({ options }) => options));
  return `${[...headParts(), "## All keys", overview, ...sections.flatMap(sectionParts)].join("\n\n")}\n`;
}

function table(options: readonly Option[]): string {
  const rows = options.map(({ path, type, byDefault, reload }) => {
    return `| ${link(path)} | ${type} | ${byDefault ?? "required"} | ${reload} |`;
  });
  return ["| key | type | default | at a reload |", "|---|---|---|---|", ...rows].join("\n");
}

function sectionParts({ name, manual, options }: Section): readonly string[] {
  const [own] = options;
  if (own?.path === name) return optionParts(own, "##");
  return [`## ${name}`, manualText(manual), ...options.flatMap((option) => optionParts(option, "###"))];
}

function optionParts(option: Option, level: "##" | "###"): readonly string[] {
  const { path, type, byDefault, reload, manual } = option;
  const isRequired = byDefault === null;
  const facts = [
    `**Type:** ${type}`,
    isRequired ? "**Required**" : `**Default:** ${byDefault}`,
    `**At a reload:** ${reload}`,
  ];
  return [`${level} ${path}`, facts.join(" · "), manualText(manual), `\`\`\`yaml\n${snippet(option)}\n\`\`\``];
}

function manualText({ description, more = "" }: Manual): string {
  return prose(escaped(`${description} ${more}`));
}

/** The part above the keys. */
function headParts(): readonly string[] {
  return [
    "<!-- Written by `make reference` from src/config/schema.ts: change it there. -->",
    "# The config file",
    prose(`Fairlead reads one YAML file: the one that \`--config\` names, else \`$FAIRLEAD_CONFIG\`, else \`./config.yaml\`, else
      \`/etc/fairlead/config.yaml\`. Only a few keys of your sources and destinations have no default, so a short file is
      enough. [config.example.yaml](../../config.example.yaml) shows every key in its place.`),
    [
      "```sh",
      "fairlead check             # every mistake at once, with its line, column and remedy",
      "fairlead check --explain   # every key with the value in force, and where it comes from",
      "```",
    ].join("\n"),
    prose(`Editors with the YAML language server complete, explain and check the file as you write: begin it with
      \`# yaml-language-server: $schema=fairlead.schema.json\`, and save the output of \`fairlead schema\` beside it under
      that name.`),
    "## Values",
    ...valueParts(),
    "## Changes",
    prose(`A running daemon reloads the file within two seconds of a change to it, to a file that it includes, or to a secret or
      certificate file that it names; on SIGHUP; and on \`fairlead reload\`. A reload is all or nothing: if the file has an error, the old config
      stays in force and the problems are logged. ${enumerate(FIXED_KEYS.map(link))} keep their old values until a restart;
      the log and \`fairlead reload\` say so. Environment variables and systemd's credentials are those that the daemon was
      started with. A file is read once it has not changed for 0.7 seconds; a program that writes it more slowly should
      write another file beside it, and rename that.`),
  ];
}

function valueParts(): readonly string[] {
  return [
    prose(`Durations are written \`250ms\`, \`5s\`, \`10m\`, \`4h\`, \`30d\` or \`1h30m\`; sizes \`512MB\` or \`1.5GB\`, in powers of
      1,024 (\`1GiB\` is the same as \`1GB\`). Names of sources and destinations are 1 to 64 letters, digits, hyphens,
      underscores and dots. Unknown keys, repeated keys and the tags of YAML are errors.`),
    prose(`An anchor (\`&name\`) marks a value, an alias (\`*name\`) below it in the same file stands for that value, and a merge key
      (\`<<: *name\`) brings the keys of a map: the map's own keys win, and of several maps (\`<<: [*a, *b]\`) the first. What only
      aliases use can stand at the top of the file under a key that begins with \`x-\`.`),
    prose("Any text may contain references, so that the file need not hold secrets:"),
    ["| reference | value |", "|---|---|", ...REFERENCE_FORMS.map(referenceRow)].join("\n"),
    prose(`Inside \`{ }\` and \`[ ]\` a text with a reference must be in quotes. A reference to something that is missing is an
      error. A secret file, or a config with a secret in it, that every user can read causes a warning. So does \`$NAME\` or
      \`{{ NAME }}\`, which Fairlead does not replace. systemd gives credentials to the unit alone: \`fairlead check\`, run
      outside it, warns that it cannot check them.`),
  ];
}

function referenceRow([form, meaning]: readonly [string, string]): string {
  return `| \`${form}\` | ${meaning.replace("just ${", "just `${`")} |`;
}

/** A key of the config file, as the reference shows it. The texts are Markdown. */
type Option = {
  /** As `destinations.NAME.webhooks[].url`. */
  readonly path: string;
  readonly type: string;
  /** Null: it is required. */
  readonly byDefault: string | null;
  /** Whether a reload applies a new value. */
  readonly reload: string;
  readonly manual: Manual;
  readonly schema: v.GenericSchema;
};

/** A key at the top of the file, with the keys below it; or with itself, if it has none. */
type Section = { readonly name: string; readonly manual: Manual; readonly options: readonly Option[] };

type Entries = Readonly<Record<string, v.GenericSchema>>;

/** Every key of the schema, in its order. */
export function sectionsOf(entries: Entries = configSchema.entries): readonly Section[] {
  return Object.entries(entries).map(([name, schema]) => {
    const below = optionsBelow(shapeOf(schema), name);
    return { name, manual: manualOf(schema), options: below.length > 0 ? below : optionsOf(schema, name) };
  });
}

function optionsBelow(shape: Shape, path: string): readonly Option[] {
  if (shape.kind === "names") return optionsBelow(shapeOf(shape.value), `${path}.NAME`);
  if (shape.kind === "list") return optionsBelow(shapeOf(shape.item), `${path}[]`);
  if (shape.kind !== "map") return [];
  return Object.entries(shape.entries).flatMap(([name, schema]) => optionsOf(schema, `${path}.${name}`));
}

/** A key, and the keys below it. */
function optionsOf(schema: v.GenericSchema, path: string): readonly Option[] {
  const option = { path, type: formOf(schema), manual: manualOf(schema), schema };
  return [
    { ...option, byDefault: defaultOf(schema), reload: reloadOf(schema, path) },
    ...optionsBelow(shapeOf(schema, "map"), path),
  ];
}

function defaultOf(schema: v.GenericSchema): string | null {
  const value: unknown = v.getDefault(schema);
  if (value !== undefined) return `\`${flowYaml(value)}\``;
  return schema.type === "optional" ? leftOutOf(schema) : null;
}

function reloadOf(schema: v.GenericSchema, path: string): string {
  if (!FIXED_KEYS.includes(path)) return "applied";
  return shapeOf(schema).kind === "map" ? "applied; to have it or not, a restart" : "needs a restart";
}

/** An example of one key, as a config file that holds nothing else. */
export function snippet({ path, schema }: Pick<Option, "path" | "schema">): string {
  const document = new Document(wrapped(exampleOf(schema), path.split(".")));
  visit(document, {
    Seq(_, list) {
      list.flow = list.items.every(isScalar);
    },
  });
  return document.toString({ lineWidth: 0, flowCollectionPadding: false }).trimEnd();
}

/** A value as one line of YAML. */
function flowYaml(value: unknown): string {
  return stringify(value, { collectionStyle: "flow", flowCollectionPadding: false, lineWidth: 0 }).trimEnd();
}

/** Puts a value below the keys that lead to it. */
function wrapped(value: unknown, [key = "", ...rest]: readonly string[], top = key): unknown {
  const below = rest.length === 0 ? value : wrapped(value, rest, top);
  if (key === "NAME") return { [nameIn(top)]: below };
  return key.endsWith("[]") ? { [key.slice(0, -2)]: [below] } : { [key]: below };
}

/** The name that the example file chooses in a section. */
function nameIn(section: string): string {
  const [, schema] = Object.entries(configSchema.entries).find(([name]) => name === section) ?? [];
  return (schema && manualOf(schema).name) ?? "NAME";
}

function exampleOf(schema: Option["schema"]): unknown {
  const { example, entries, commentedOut } = manualOf(schema);
  if (example !== undefined) return example;
  if (entries) return { ...entries, ...commentedOut };
  const shape = shapeOf(schema);
  if (shape.kind === "map") return examplesOf(shape.entries);
  const item = shape.kind === "list" ? shapeOf(shape.item) : null;
  if (item?.kind === "map") return [examplesOf(item.entries)];
  throw new Error("a key of the config has no example: this is a bug in Fairlead, please report it");
}

/** The required keys, with their examples. */
function examplesOf(entries: Readonly<Record<string, Option["schema"]>>): unknown {
  const required = Object.entries(entries).filter(([, schema]) => schema.type !== "optional");
  return Object.fromEntries(required.map(([name, schema]) => [name, exampleOf(schema)]));
}

const COLUMNS = 140;

/** A paragraph, wrapped. A line break in the text counts as a space. */
function prose(text: string): string {
  return fill(text, COLUMNS).join("\n");
}

/** Escapes stars outside code: they would begin italics. */
function escaped(text: string): string {
  return text.replace(/`[^`]*`|\*/g, (found) => (found === "*" ? "\\*" : found));
}

/** A link to the heading of a key, by the anchor that Markdown viewers derive from it. */
function link(path: string): string {
  return `[\`${path}\`](#${path.toLowerCase().replace(/[^a-z\d-]/g, "")})`;
}

function enumerate(words: readonly string[]): string {
  return `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

if (import.meta.main) process.stdout.write(configMarkdown());
