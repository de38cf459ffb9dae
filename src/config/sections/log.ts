import * as v from "valibot";
import { LOG_FORMATS, LOG_LEVELS } from "../../model/config.ts";
import { oneOf } from "../fields.ts";
import { key } from "../manual.ts";

export const log = v.strictObject({
  level: key(v.optional(oneOf(LOG_LEVELS, { warn: "warning" }), "info"), {
    description: "How much is written: debug, info, warning or error.",
    example: "warning",
    more: "Each level includes those after it. warn is the same as warning.",
  }),
  format: key(v.optional(oneOf(LOG_FORMATS), "auto"), {
    description: "text for people, json or logfmt for programs; auto chooses by where the lines go.",
    example: "json",
  }),
});
