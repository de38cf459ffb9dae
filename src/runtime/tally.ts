import { Counter, type Registry } from "./prom.ts";

/** Numbers that only rise, by the value of one label. */
export type Row = { add(label: Label, count?: number): void };
/** Rows by the value of a first label. The row of a value stays the same: callers may keep it. */
export type Tally = { row(first: string): Row };
export type Label = string | number;

type Naming = { readonly registry: Registry; readonly name: string; readonly help: string };

export type TallyOptions = Naming & {
  readonly labels: readonly [first: string, second: string];
  /** Values of the second label that start at 0 with each row. */
  readonly known?: readonly string[];
};

/**
 * Declares a counter with two labels. Adding touches plain numbers only, a few nanoseconds each; prom-client gets them
 * when somebody asks for the text.
 */
export function createTally({ registry, name, help, labels, known = [] }: TallyOptions): Tally {
  const rows = new Map<string, CountedRow>();
  new Counter({
    name,
    help,
    labelNames: labels,
    registers: [registry],
    collect() {
      this.reset();
      for (const [first, { cells }] of rows) {
        for (const [second, { count }] of cells) this.inc({ [labels[0]]: first, [labels[1]]: second }, count);
      }
    },
  });
  return {
    row(first) {
      const row = rows.get(first);
      if (row) return row;
      const fresh = createRow(known);
      rows.set(first, fresh);
      return fresh;
    },
  };
}

/** Declares a counter with one label, in the same way. */
export function createRowCounter({ registry, name, help, label }: Naming & { readonly label: string }): Row {
  const row = createRow([]);
  new Counter({
    name,
    help,
    labelNames: [label],
    registers: [registry],
    collect() {
      this.reset();
      for (const [value, { count }] of row.cells) this.inc({ [label]: value }, count);
    },
  });
  return row;
}

type CountedRow = Row & { readonly cells: ReadonlyMap<Label, { count: number }> };

function createRow(known: readonly string[]): CountedRow {
  const cells = new Map<Label, { count: number }>(known.map((label) => [label, { count: 0 }]));
  return {
    cells,
    add(label, count = 1) {
      const cell = cells.get(label);
      if (cell) cell.count += count;
      else cells.set(label, { count });
    },
  };
}
