/** First in, first out. Taking one costs the same however many there are, which `Array.shift` does not promise. */
export type Fifo<T> = {
  push(value: T): void;
  first(): T | undefined;
  shift(): T | undefined;
  takeAll(): readonly T[];
  size(): number;
};

/** How many taken ones may be left at the front of the array before it is cut. */
const SLACK = 1_024;

export function createFifo<T extends object>(): Fifo<T> {
  let values: (T | null)[] = [];
  let head = 0;

  return {
    push: (value) => void values.push(value),
    first: () => values[head] ?? undefined,
    shift() {
      const value = values[head] ?? undefined;
      if (value === undefined) return undefined;
      values[head] = null;
      head += 1;
      if (head > SLACK && head * 2 > values.length) cut();
      return value;
    },
    takeAll() {
      cut();
      const all = values.filter((value) => value !== null);
      values = [];
      return all;
    },
    size: () => values.length - head,
  };

  function cut(): void {
    values = values.slice(head);
    head = 0;
  }
}
