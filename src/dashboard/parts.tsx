/** What all screens are made of. Text from events only ever becomes text nodes. */

import { type Child, useEffect, useId, useLayoutEffect, useRef, useState } from "hono/jsx/dom";
import type { JSX } from "hono/jsx/jsx-runtime";
import { useAddress } from "./address.ts";
import { now, type Polled, Refusal } from "./api.ts";
import * as words from "./words.ts";

type Element = JSX.Element;
type Within = { readonly children?: Child };

/** A time as how long ago, with the exact one in the reader's zone and in UTC on hover. */
export function Ago({ at, absent = "never" }: { readonly at: string | null; readonly absent?: string }): Element {
  if (at === null) return <span class="quiet">{absent}</span>;
  const passed = now() - Date.parse(at);
  const text =
    Math.abs(passed) < 1_000 ? "now" : passed < 0 ? `in ${words.duration(-passed)}` : `${words.duration(passed)} ago`;
  return (
    <time datetime={at} title={exactTime(at)}>
      {text}
    </time>
  );
}

/** When something comes next; it may be due and wait for its turn. */
export function Next({ at, absent }: { readonly at: string | null; readonly absent: string }): Element {
  return at !== null && Date.parse(at) <= now() ? <span>due now</span> : <Ago at={at} absent={absent} />;
}

/** The exact time in the reader's zone. */
export function Moment({ at, absent = "never" }: { readonly at: string | null; readonly absent?: string }): Element {
  if (at === null) return <span class="quiet">{absent}</span>;
  return (
    <time datetime={at} title={exactTime(at)}>
      {words.moment(at)}
    </time>
  );
}

function exactTime(at: string): string {
  return `${words.moment(at)}, ${at}`;
}

type Tone = "good" | "warn" | "bad" | "calm";

const SIGNS: Readonly<Record<Tone, string>> = { good: "✓", warn: "!", bad: "✕", calm: "·" };

/** States with a sign and a word: never by colour alone. */
const STATES: Readonly<Record<string, readonly [tone: Tone, sign: string]>> = {
  working: ["good", "✓"],
  delivered: ["good", "✓"],
  finished: ["good", "✓"],
  accepted: ["good", "→"],
  done: ["good", "✓"],
  alive: ["good", "✓"],
  enabled: ["good", "✓"],
  live: ["good", "●"],
  waiting: ["calm", "…"],
  running: ["calm", "…"],
  untried: ["calm", "·"],
  degraded: ["warn", "!"],
  slowed: ["warn", "!"],
  warning: ["warn", "!"],
  retry: ["warn", "↻"],
  paused: ["warn", "‖"],
  offline: ["warn", "⌁"],
  refused: ["warn", "⊘"],
  expired: ["bad", "✕"],
  failed: ["bad", "✕"],
  failing: ["bad", "✕"],
  down: ["bad", "✕"],
  final: ["bad", "✕"],
  "not delivered": ["bad", "✕"],
  lost: ["bad", "⌁"],
  error: ["bad", "✕"],
  silent: ["bad", "✕"],
};

/** A word that is not in the list has the tone that is given. */
export function State({ state, tone: own = "calm" }: { readonly state: string; readonly tone?: Tone }): Element {
  const [tone, sign] = STATES[state] ?? [own, SIGNS[own]];
  return (
    <span class={`state ${tone}`}>
      <span aria-hidden="true">{sign}</span> {state}
    </span>
  );
}

/** A text with the names of keys between backquotes. */
export function Coded({ text }: { readonly text: string }): Element {
  return <>{text.split("`").map((part, nth) => (nth % 2 === 1 ? <code key={nth}>{part}</code> : part))}</>;
}

/** The head of a screen. It takes the focus when the screen opens, so that a screen reader says where one is. */
export function Heading({ title, children }: Within & { readonly title: string }): Element {
  const heading = useRef<HTMLElement>(null);
  const { path } = useAddress();
  // Before anybody sees it: the focus must not move away from where a quick Tab has put it.
  useLayoutEffect(() => {
    document.title = `${title} · Fairlead`;
    if (opened !== path && opened !== null) heading.current?.focus();
    opened = path;
  }, [title, path]);
  return (
    <header class="heading">
      <h1 tabindex={-1} ref={heading}>
        {title}
      </h1>
      <div class="actions">{children}</div>
    </header>
  );
}

let opened: string | null = null;

export function Section({
  title,
  note,
  children,
}: Within & { readonly title: string; readonly note?: Child }): Element {
  const id = useId();
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {note ? <p class="quiet">{note}</p> : null}
      {children}
    </section>
  );
}

/** The head of a column of numbers. */
export type NumberColumn = { readonly number: string };

/** A table that scrolls sideways in its own box, with the keyboard too. */
export function Table({
  label,
  head,
  children,
}: Within & { readonly label: string; readonly head: readonly (Child | NumberColumn)[] }): Element {
  return (
    <section class="scroll" aria-label={`${label}, as a table`} tabindex={0}>
      <table>
        <thead>
          <tr>
            {head.map((one, nth) =>
              isNumberColumn(one) ? (
                <th key={nth} scope="col" class="number">
                  {one.number}
                </th>
              ) : (
                <th key={nth} scope="col">
                  {one}
                </th>
              ),
            )}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </section>
  );
}

function isNumberColumn(one: Child | NumberColumn): one is NumberColumn {
  return typeof one === "object" && one !== null && "number" in one;
}

/** Names and values, in two columns. */
export function Facts({ facts }: { readonly facts: readonly (readonly [name: string, value: Child])[] }): Element {
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** A part of a whole, as a bar and in words. */
export function Share({
  value,
  of,
  label,
  tone = "calm",
  children,
}: Within & { readonly value: number; readonly of: number; readonly label: string; readonly tone?: Tone }): Element {
  return (
    <span class="share">
      <progress class={tone} value={value} max={Math.max(of, 1)} aria-label={label} />
      <span>{children}</span>
    </span>
  );
}

/** Nothing to show, and what to do about it. */
export function Empty({ title, children }: Within & { readonly title: string }): Element {
  return (
    <div class="empty">
      <p>
        <strong>{title}</strong>
      </p>
      {children ? <p class="quiet">{children}</p> : null}
    </div>
  );
}

/** Shows an answer once it is there; before that that it is awaited, or why it does not come. */
export function Loaded<T>({
  of,
  children,
}: {
  readonly of: Polled<T>;
  readonly children: (data: T) => Child;
}): Element {
  const { data, error, refresh } = of;
  return (
    <>
      {error && error.code !== "no_answer" ? <Problem error={error} again={refresh} /> : null}
      {data !== null ? children(data) : error ? null : <p class="quiet loading">Loading…</p>}
    </>
  );
}

export function Problem({ error, again }: { readonly error: Refusal; readonly again?: () => void }): Element {
  return (
    <div class="problem" role="alert">
      <p>
        {error.message} <code>{error.code}</code>
      </p>
      {again ? (
        <button type="button" onClick={again}>
          Try again
        </button>
      ) : null}
    </div>
  );
}

type Act = {
  readonly label: string;
  /** Does it, and answers what was done, in words. */
  readonly run: () => Promise<Child>;
  /** The question that is asked before, and what follows from a yes. */
  readonly question?: Child;
  readonly danger?: boolean;
  /** Why it cannot be done. */
  readonly hindered?: string | null;
  readonly done?: () => void;
};

/** A button that does something to the daemon, asks before where that is not harmless, and says what became of it. */
export function Action({ label, run, question, danger = false, hindered = null, done }: Act): Element {
  const [said, setSaid] = useState<Child>(null);
  const [busy, setBusy] = useState(false);
  const [asking, setAsking] = useState(false);
  async function act(): Promise<void> {
    setAsking(false);
    setBusy(true);
    setSaid(null);
    try {
      setSaid(<span class="said">{await run()}</span>);
      done?.();
    } catch (error) {
      setSaid(<span class="said bad">{error instanceof Refusal ? error.message : String(error)}</span>);
    }
    setBusy(false);
  }
  return (
    <span class="action">
      <button
        type="button"
        class={danger ? "danger" : ""}
        disabled={hindered !== null}
        // Not disabled: it would lose the focus.
        aria-disabled={busy ? "true" : undefined}
        title={hindered ?? undefined}
        onClick={() => !busy && (question ? setAsking(true) : act())}
      >
        {busy ? "…" : label}
      </button>
      <span role="status">{said}</span>
      {asking ? (
        <Dialog label={label} close={() => setAsking(false)}>
          <div class="question">{question}</div>
          <div class="actions">
            <button type="button" onClick={() => setAsking(false)}>
              Cancel
            </button>
            <button type="button" class={danger ? "danger" : "main"} onClick={act}>
              {label}
            </button>
          </div>
        </Dialog>
      ) : null}
    </span>
  );
}

/** A dialog of the browser's own: it keeps the focus, and Escape closes it. */
export function Dialog({
  label,
  close,
  children,
}: Within & { readonly label: string; readonly close: () => void }): Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const isGone = useRef(false);
  useEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    return () => {
      isGone.current = true;
      // The browser then gives the focus back to where it was.
      shown?.close();
    };
  }, []);
  return (
    <dialog ref={dialog} aria-label={label} onClose={() => isGone.current || close()}>
      {children}
    </dialog>
  );
}

/** Copies a text as it is. */
export function Copy({ text, label = "Copy" }: { readonly text: string; readonly label?: string }): Element {
  return <Action label={label} run={() => copy(text)} />;
}

async function copy(text: string): Promise<string> {
  try {
    await navigator.clipboard.writeText(text);
    return "copied";
  } catch {
    throw new Error("the browser does not allow it: copy by hand");
  }
}
