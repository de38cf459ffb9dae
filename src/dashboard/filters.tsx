/** Filters whose state is the query of the address. */

import { useEffect, useId, useRef, useState } from "hono/jsx/dom";
import type { JSX } from "hono/jsx/jsx-runtime";
import { go, useAddress, withQuery } from "./address.ts";

type FilterOf = { readonly name: string; readonly label: string };

/** How long after the last key a typed filter counts. */
const TYPING = 300;

/** A text that is part of the address. */
export function TextFilter({ name, label, hint = "" }: FilterOf & { readonly hint?: string }): JSX.Element {
  const { query } = useAddress();
  const [typed, setTyped] = useState("");
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  const id = useId();
  useEffect(() => () => clearTimeout(timer.current ?? undefined), []);
  const current = query.get(name) ?? "";
  const isOwn = timer.current !== null || typed.trim() === current;

  function type(text: string): void {
    setTyped(text);
    clearTimeout(timer.current ?? undefined);
    timer.current = setTimeout(() => {
      timer.current = null;
      setFilter(name, text.trim());
    }, TYPING);
  }

  return (
    <label class="filter" for={id}>
      {label}
      <input
        id={id}
        type="search"
        placeholder={hint}
        value={isOwn ? typed : current}
        onInput={(event: Event) => type((event.target as HTMLInputElement).value)}
      />
    </label>
  );
}

export function ChoiceFilter({
  name,
  label,
  choices,
  any = "any",
}: FilterOf & { readonly choices: readonly string[]; readonly any?: string }): JSX.Element {
  const { query } = useAddress();
  const id = useId();
  const chosen = query.get(name) ?? "";
  // What an address names may be gone; it is still what the list is filtered by.
  const all = chosen === "" || choices.includes(chosen) ? choices : [...choices, chosen];
  return (
    <label class="filter" for={id}>
      {label}
      <select
        id={id}
        value={chosen}
        onChange={(event: Event) => setFilter(name, (event.target as HTMLSelectElement).value)}
      >
        <option value="">{any}</option>
        {all.map((one) => (
          <option key={one} value={one} selected={one === chosen}>
            {one}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The place in a list belongs to its filter, so it is dropped. */
function setFilter(name: string, value: string): void {
  const address = { path: location.pathname, query: new URLSearchParams(location.search) };
  go(withQuery(address, { [name]: value, cursor: null }), "replace");
}
