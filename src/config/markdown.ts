import type { Manual } from "./key.ts";
import { headParts } from "./markdown/head.ts";
import { type Entries, type Option, type Section, sectionsOf } from "./markdown/options.ts";
import { snippet } from "./markdown/snippet.ts";
import { escaped, link, prose } from "./markdown/words.ts";

/** The text of docs/config.md: the reference of all keys, in Markdown. */
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
  return [`## ${name}`, manualText(manual), ...options.flatMap(optionParts)];
}

function optionParts(option: Option): readonly string[] {
  const { path, type, byDefault, reload, manual } = option;
  const isRequired = byDefault === null;
  const facts = [
    `**Type:** ${type}`,
    isRequired ? "**Required**" : `**Default:** ${byDefault}`,
    `**At a reload:** ${reload}`,
  ];
  return [`### ${path}`, facts.join(" · "), manualText(manual), `\`\`\`yaml\n${snippet(option)}\n\`\`\``];
}

function manualText({ description, more = "" }: Manual): string {
  return prose(escaped(`${description} ${more}`));
}
