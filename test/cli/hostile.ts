import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { computationDetail, computationList } from "../../src/wire/computations.ts";
import { deletionList, deletionReceipt } from "../../src/wire/deletions.ts";
import { deliveryDetail, deliveryList, rejectionList, trail } from "../../src/wire/deliveries.ts";
import type { Shape } from "../../src/wire/fields.ts";
import { reloaded, status } from "../../src/wire/status.ts";
import { askAdmin } from "./run.ts";

/** Clears the screen, sets a title, writes from right to left and forges a line. */
export const HOSTILE = "x\u001b[2J\u009b31m\u001b]0;t\u0007\u202e\r\ny";

/** JavaScript ignores what stands in parentheses. */
const HOSTILE_TIME = "2026-11-20 12:00:00 (\u001b[2J)";

/** Each command that lists or shows something, and the answer that it wants. */
const LISTS: readonly { readonly args: readonly string[]; readonly path: RegExp; readonly shape: Shape }[] = [
  { args: ["status"], path: /^\/api\/status/, shape: status },
  { args: ["deliveries", "show", "1-crm"], path: /^\/api\/deliveries\//, shape: deliveryDetail },
  { args: ["deliveries", "--limit", "1"], path: /^\/api\/deliveries/, shape: deliveryList },
  { args: ["explain", "m1"], path: /^\/api\/events\//, shape: trail },
  { args: ["rejected"], path: /^\/api\/rejected/, shape: rejectionList },
  { args: ["deletions", "show", "del-1"], path: /^\/api\/deletions\//, shape: deletionReceipt },
  { args: ["deletions"], path: /^\/api\/deletions/, shape: deletionList },
  {
    args: ["audience", "show", "a", "--source", "s"],
    path: /^\/api\/.*audiences\//,
    shape: computationDetail.audience,
  },
  { args: ["audience", "list"], path: /^\/api\/audiences/, shape: computationList.audience },
  { args: ["reload"], path: /^\/api\/reload/, shape: reloaded },
];

/** A daemon whose every text is hostile; when `refusing`, so are its refusals. */
export async function serveHostile({ refusing = false } = {}) {
  const server = createServer((request, response) => {
    const found = LISTS.find(({ path }) => path.test(request.url ?? ""));
    response.statusCode = refusing ? 503 : 200;
    const refusal = { success: false, code: HOSTILE, message: HOSTILE };
    response.end(JSON.stringify(refusing || !found ? refusal : sampleOf(found.shape)));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const admin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    lists: LISTS.map(({ args }) => args),
    run: (args: readonly string[], env: Readonly<Record<string, string>> = {}) => askAdmin(args, admin, env).ended,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

/** The parts of a schema of valibot that lead to others. */
type Node = {
  readonly type: string;
  readonly entries?: Readonly<Record<string, Node>>;
  readonly item?: Node;
  readonly value?: Node;
  readonly wrapped?: Node;
  readonly literal?: unknown;
  readonly options?: readonly Node[];
  readonly pipe?: readonly Node[];
};

/** An answer of this shape that has one of everything. */
function sampleOf(shape: Shape): unknown {
  return make(shape as unknown as Node);
}

function make(node: Node): unknown {
  const { type, entries, item, value, wrapped, literal, options } = node;
  if (isTime(node)) return HOSTILE_TIME;
  if (entries) return Object.fromEntries(Object.entries(entries).map(([key, entry]) => [key, make(entry)]));
  if (item) return [make(item)];
  if (value) return { [HOSTILE]: make(value) };
  if (wrapped) return make(wrapped);
  if (type === "literal") return literal;
  if (type === "number") return 1;
  if (type === "boolean") return false;
  if (type === "union" && options?.[0]) return make(options[0]);
  return HOSTILE;
}

function isTime({ pipe = [] }: Node): boolean {
  return pipe.some((one) => one.type === "iso_timestamp" || isTime(one));
}
