import { type Child, useEffect, useId, useRef } from "hono/jsx/dom";
import type { JSX } from "hono/jsx/jsx-runtime";

type Detail = {
  readonly title: string;
  /** Where the list is without it. */
  readonly back: string;
  readonly children?: Child;
};

/** One entry of a list in full, above the list. It takes the focus, as a screen does when it opens. */
export function Detail({ title, back, children }: Detail): JSX.Element {
  const id = useId();
  const heading = useRef<HTMLElement>(null);
  useEffect(() => heading.current?.focus(), []);
  return (
    <section aria-labelledby={id}>
      <div class="heading">
        <h2 id={id} tabindex={-1} ref={heading}>
          {title}
        </h2>
        <a href={back}>Close</a>
      </div>
      {children}
    </section>
  );
}
