import * as v from "valibot";
import { Document, isScalar, stringify, visit } from "yaml";
import { FIXED_KEYS } from "../../src/config/changes.ts";
import { formOf, leftOutOf, type Manual, manualOf, type Shape, shapeOf } from "../../src/config/key.ts";
import { REFERENCE_FORMS } from "../../src/config/references.ts";
import { configSchema } from "../../src/config/schema.ts";
import { anchorOf, block, contents, enumerate, escaped, page, prose, table } from "./markdown.ts";

const SOURCE = "src/config/schema.ts";

/** The pages of docs/reference/config/, by name: all keys, and a page for each section. */
export function configPages(entries?: Entries): ReadonlyMap<string, string> {
  const sections = sectionsOf(entries).flatMap(inPages);
  const pageOf = (path: string) => {
    const own = sections.find(({ options }) => options.some((option) => option.path === path));
    return own?.file ?? "index.md";
  };
  return new Map([
    ["index.md", page(SOURCE, ...overviewParts(sections, pageOf))],
    ...sections.map((section) => [section.file, page(SOURCE, ...sectionParts(section))] as const),
  ]);
}

/** The keys of webhooks have a page of their own, since those of a destination are many. */
function inPages(section: Section): readonly PagedSection[] {
  const { name, options } = section;
  const apart = options.filter(({ path }) => path.startsWith(WEBHOOK_KEYS));
  const paged = { ...section, title: name, file: `${name}.md`, options: options.filter((one) => !apart.includes(one)) };
  if (apart.length === 0) return [paged];
  const manual = { description: "The webhooks of a destination. Each event goes to all of them at once." };
  const webhooks = { name, manual, title: "destinations: webhooks", file: "webhooks.md", options: apart };
  return [{ ...paged, more: "The keys of its webhooks are in [webhooks](webhooks.md)." }, webhooks];
}

const WEBHOOK_KEYS = "destinations.NAME.webhooks[].";

type PagedSection = Section & { readonly title: string; readonly file: string; readonly more?: string };
type PageOf = (path: string) => string;

function overviewParts(sections: readonly PagedSection[], pageOf: PageOf): readonly string[] {
  return [
    "# The config file",
    prose(`Fairlead reads one YAML file: the one that \`--config\` names, else \`$FAIRLEAD_CONFIG\`, else \`./config.yaml\`, else
      \`/etc/fairlead/config.yaml\`. Only a few keys of your sources and destinations have no default, so a short file is
      enough. [config.example.yaml](../../../config.example.yaml) shows every key in its place.`),
    `[Values](#values) · [Changes](#changes) · [All keys](#all-keys)`,
    [
      "```sh notest",
      "fairlead check             # every mistake at once, with its line, column and remedy",
      "fairlead check --explain   # every key with the value in force, and where it comes from",
      "```",
    ].join("\n"),
    prose(`Editors with the YAML language server complete, explain and check the file as you write. Begin it with
      \`# yaml-language-server: $schema=fairlead.schema.json\`, and save the output of \`fairlead schema\` beside it under
      that name.`),
    "## Values",
    ...valueParts(),
    "## Changes",
    prose(`A running daemon reloads the file within two seconds of a change to it, to a file that it includes, or to a secret or
      certificate file that it names. It also does so on SIGHUP and on \`fairlead reload\`. A reload is all or nothing: if the
      file has an error, the old config stays in force and the problems are logged.`),
    prose(`${enumerate(FIXED_KEYS.map((path) => link(path, pageOf)))} keep their old values until a restart; the log and
      \`fairlead reload\` say so. Environment variables and systemd's credentials are read at the start only. A file is read
      once it has not changed for 0.7 seconds. A program that writes it more slowly should write another file beside it and
      rename that.`),
    "## All keys",
    table(
      ["key", "type", "default", "at a reload"],
      sections.flatMap(({ options }) => options.map((option) => overviewRow(option, pageOf))),
    ),
  ];
}

function overviewRow({ path, type, byDefault, reload }: Option, pageOf: PageOf): readonly string[] {
  return [link(path, pageOf), type, byDefault ?? "required", reload];
}

function sectionParts({ name, title, manual, more, options }: PagedSection): readonly string[] {
  const [own] = options;
  const below = own?.path === name ? optionParts(own, null) : options.flatMap((option) => optionParts(option, "##"));
  const list = options.length > 4 ? [contents(options.map(({ path }) => path))] : [];
  return [
    `# ${title}`,
    ...(own?.path === name ? [] : [manualText(manual)]),
    ...(more ? [more] : []),
    ...list,
    ...below,
  ];
}

/** A key below its heading; on a page of its own, the title is its heading. */
function optionParts(option: Option, level: "##" | null): readonly string[] {
  const { path, type, byDefault, reload, manual } = option;
  const isRequired = byDefault === null;
  const facts = [
    `**Type:** ${type}`,
    isRequired ? "**Required**" : `**Default:** ${byDefault}`,
    `**At a reload:** ${reload}`,
  ];
  return [
    ...(level ? [`${level} ${path}`] : []),
    facts.join(" · "),
    manualText(manual),
    block(snippet(option), "yaml"),
  ];
}

function manualText({ description, more = "" }: Manual): string {
  return prose(escaped(`${description} ${more}`));
}

function valueParts(): readonly string[] {
  return [
    prose(`Durations are written \`250ms\`, \`5s\`, \`10m\`, \`4h\`, \`30d\` or \`1h30m\`; sizes \`512MB\` or \`1.5GB\`, in powers of
      1,024 (\`1GiB\` is the same as \`1GB\`). Names of sources and destinations are 1 to 64 letters, digits, hyphens,
      underscores and dots. Unknown keys, repeated keys and the tags of YAML are errors.`),
    prose(`An anchor (\`&name\`) marks a value. An alias (\`*name\`) below it in the same file stands for that value. A merge key
      (\`<<: *name\`) brings the keys of a map: the map's own keys win, and of several maps (\`<<: [*a, *b]\`) the first. What only
      aliases use can stand at the top of the file under a key that begins with \`x-\`.`),
    prose("Any text may contain references, so that secrets can stay out of the file:"),
    table(["reference", "value"], REFERENCE_FORMS.map(referenceRow)),
    prose(`Inside \`{ }\` and \`[ ]\` a text with a reference must be in quotes. A reference to something that is missing is an
      error. A secret file, or a config with a secret in it, that every user can read causes a warning. So does \`$NAME\` or
      \`{{ NAME }}\`, which Fairlead does not replace. systemd gives credentials to the unit alone: \`fairlead check\`, run
      outside it, warns that it cannot check them.`),
  ];
}

function referenceRow([form, meaning]: readonly [string, string]): readonly string[] {
  return [`\`${form}\``, meaning.replace("just ${", "just `${`")];
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

/** A link to the heading of a key, by the anchor that Markdown viewers derive from it. */
function link(path: string, pageOf: PageOf): string {
  const file = pageOf(path);
  const anchor = file === `${path}.md` ? "" : `#${anchorOf(path)}`;
  return `[\`${path}\`](${file}${anchor})`;
}
