import type { Origin } from "../references.ts";
import type { EffectiveList, From } from "./effective.ts";

/** Where a value comes from, as `config.yaml:7, from $WEBSITE_KEY`; `file` is what the config file is called. */
export function fromWords(from: From, file: string): string {
  if (from.kind === "default") return "default";
  const origins = [...new Set(from.origins.map(originWords))];
  return `${file}:${from.line}${origins.length > 0 ? `, from ${enumerate(origins)}` : ""}`;
}

/** Where a list comes from, with all that its items come from. */
export function fromOfList({ from, items }: EffectiveList): From {
  if (from.kind === "default") return from;
  const origins = items.flatMap((item) =>
    item.kind === "value" && item.from.kind === "file" ? item.from.origins : [],
  );
  return { ...from, origins };
}

function originWords(origin: Origin): string {
  switch (origin.kind) {
    case "variable":
      return `$${origin.name}`;
    case "default":
      return `the default of $${origin.name}`;
    case "file":
      return origin.path;
    case "credential":
      return `the credential ${origin.name}`;
  }
}

function enumerate(words: readonly string[]): string {
  if (words.length < 2) return words.join("");
  return `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}
