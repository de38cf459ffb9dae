// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references, as the example file shows them.
import * as v from "valibot";
import { flag, text } from "../fields.ts";
import { key } from "../manual.ts";

/** One entry of `sources`. */
export const source = v.strictObject({
  writeKey: key(text(), {
    description: "The key that its pages and programs send; any text, different for each source.",
    more: `A browser shows it to everyone, so give your servers a source of their own. Make a key with
      \`openssl rand -hex 16\`.`,
    example: "${WEBSITE_KEY:-change-me}",
  }),
  enabled: key(v.optional(flag(), true), {
    description: "Whether its calls are taken.",
    more: "false answers them with 401 and keeps the rest of the entry for later.",
  }),
});
