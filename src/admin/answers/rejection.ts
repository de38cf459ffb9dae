import * as v from "valibot";
import { FAULT_STATUS, type FaultCode } from "../../model/fault.ts";
import { about, count, named, text, time } from "./fields.ts";

export const CODES = Object.keys(FAULT_STATUS) as FaultCode[];

export const rejection = named(
  "Rejection",
  v.strictObject({
    at: time,
    source: about("Null while nobody knew it.", text),
    type: about("Null if it is about a whole request.", text),
    messageId: text,
    code: v.picklist(CODES),
    message: v.string(),
    count: about("How many calls it is about.", count),
    from: v.strictObject({
      address: text,
      userAgent: text,
      origin: about("The page that a browser sent it from.", text),
    }),
    request: about("As `POST /v1/track`, without its query.", v.string()),
    sample: about("The first KB of the call, or of the body; without write keys.", v.string()),
  }),
);
