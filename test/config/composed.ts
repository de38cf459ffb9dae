import assert from "node:assert/strict";
import { isAlias, isMap, isPair, isScalar, isSeq, parseDocument } from "yaml";
import { compose } from "../../src/config/compose.ts";
import { atOnce } from "../../src/config/steps.ts";

/** Steps of the usual size, and so small that even a short text takes many. */
const STEPS = [undefined, 40, 1];

/** Composing in steps gives the same nodes at the same places, or the same errors, as the library does at once. */
export function assertComposedAsByLibrary(text: string): void {
  const { contents, errors, directives } = parseDocument(text, { prettyErrors: false, uniqueKeys: false });
  const wanted = {
    nodes: shown(contents),
    errors: errors.map(shownError),
    hasVersion: directives.yaml.explicit === true,
  };
  for (const step of STEPS) {
    const composed = atOnce(compose(text, step));
    const found = { ...composed, nodes: shown(composed.contents), errors: composed.errors.map(shownError) };
    const { contents: _, ...got } = found;
    // The library has no bound: it goes on until its stack is full.
    if (isTooDeep(got.errors)) continue;
    assert.deepEqual(got, wanted);
  }
}

function isTooDeep(errors: readonly string[]): boolean {
  return errors.some((error) => error.startsWith("RESOURCE_EXHAUSTION"));
}

function shownError({ code, pos }: { readonly code: string; readonly pos: readonly number[] }): string {
  return `${code} ${pos}`;
}

/** All that reading a config asks of a node. Keeps a list instead of recursing: a text may be nested very deep. */
function shown(root: unknown): readonly string[] {
  const lines: string[] = [];
  const rest: unknown[] = [root];
  while (rest.length > 0) {
    const node = rest.pop();
    if (isPair(node)) rest.push(node.value, node.key);
    else if (isMap(node) || isSeq(node)) {
      lines.push(`${isMap(node) ? "map" : "list"} ${node.range?.slice(0, 2)} ${node.tag} ${node.anchor} ${node.flow}`);
      for (const item of node.items.toReversed()) rest.push(item);
    } else if (isScalar(node)) {
      const { range, tag, anchor, type, source } = node;
      lines.push(`${range?.slice(0, 2)} ${tag} ${anchor} ${type} ${source} ${typeof node.value} ${String(node.value)}`);
    } else lines.push(isAlias(node) ? `alias ${node.range?.slice(0, 2)} ${node.source}` : String(node));
  }
  return lines;
}
