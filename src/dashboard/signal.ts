import { useSyncExternalStore } from "hono/jsx/dom";

/** A value that the whole page shares. Components that use it are drawn again when it changes. */
export type Signal<T> = { get(): T; set(value: T): void; use(): T };

export function createSignal<T>(initial: T): Signal<T> {
  const listeners = new Set<() => void>();
  let value = initial;
  const get = (): T => value;
  return {
    get,
    set(next) {
      if (next === value) return;
      value = next;
      for (const listener of listeners) listener();
    },
    use: () => useSyncExternalStore(subscribe, get),
  };

  function subscribe(listener: () => void): () => void {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }
}
