import { type Child, memo, useEffect, useRef, useState } from "hono/jsx/dom";
import type { JSX } from "hono/jsx/jsx-runtime";
import { pathTo, pathWith, useAddress } from "../address.ts";
import { ChoiceFilter, TextFilter } from "../filters.tsx";
import { type Link, useLive } from "../live.ts";
import { Empty, Heading, State, Table } from "../parts.tsx";
import { useStatus } from "../status.ts";
import { type LiveEvent, MOST_ROWS, type Row, type Tail } from "../tail.ts";
import * as words from "../words.ts";

const FILTERS = ["kind", "source", "destination", "type", "user"] as const;

/** Events as they happen. */
export function Live(): JSX.Element {
  const { query } = useAddress();
  const wanted = Object.fromEntries(FILTERS.map((name) => [name, query.get(name)]));
  const { link, tail, paused, setPaused } = useLive(pathWith("/api/live", wanted));
  const narrowed = FILTERS.some((name) => query.has(name));
  return (
    <>
      <Heading title="Live">
        <State state={paused && link.kind === "live" ? "paused" : link.kind} />
        <button type="button" onClick={() => setPaused(!paused)}>
          {paused ? "Go on" : "Pause"}
        </button>
      </Heading>
      <Filters />
      <Announced link={link} tail={tail} paused={paused} />
      <Standing link={link} tail={tail} paused={paused} />
      {tail.rows.length === 0 ? (
        <Nothing link={link} narrowed={narrowed} />
      ) : (
        // Rows must not move away from under the keyboard.
        <div onFocusin={({ target }: FocusEvent) => target instanceof HTMLAnchorElement && setPaused(true)}>
          <Table label="Events, newest first" head={HEAD}>
            {tail.rows.map((row) => (
              <EventRow key={row.number} row={row} />
            ))}
          </Table>
        </div>
      )}
    </>
  );
}

const HEAD = ["What", "Event", "From, to", "Details"];

const TYPES = ["identify", "track", "page", "screen", "group", "alias", "delete"];

function Filters(): JSX.Element {
  const { sources, destinations } = useStatus().data ?? { sources: [], destinations: [] };
  return (
    <div class="filters">
      <ChoiceFilter name="kind" label="What" choices={["accepted", "refused", "attempted"]} />
      <ChoiceFilter name="source" label="Source" choices={sources.map(({ name }) => name)} />
      <ChoiceFilter name="destination" label="Destination" choices={destinations.map(({ name }) => name)} />
      <ChoiceFilter name="type" label="Type" choices={TYPES} />
      <TextFilter name="user" label="User" hint="userId" />
    </div>
  );
}

type Watched = { readonly link: Link; readonly tail: Tail; readonly paused: boolean };

/** What has come, what of it is not on the page, and why nothing comes. */
function Standing({ link, tail: { rows, held, counts, unseen }, paused }: Watched): JSX.Element {
  return (
    <>
      {link.kind === "lost" ? (
        <p class="problem">
          No stream since {words.clockTime(new Date(link.since).toISOString())}: {link.why.message}. The page keeps
          trying.
        </p>
      ) : null}
      <p class="quiet">
        <span>{passed(counts)} so far.</span>{" "}
        {rows.length < MOST_ROWS ? null : <span>The newest {rows.length} are shown.</span>}{" "}
        {unseen > 0 ? <strong>{words.exact(unseen)} not shown: sampled. </strong> : null}
        {paused ? <strong>{words.some(held.length, "new one", "new ones")} held back.</strong> : null}
      </p>
    </>
  );
}

function passed({ accepted, refused, attempted }: Tail["counts"]): string {
  const attempts = words.some(attempted, "attempt", "attempts");
  return `${words.exact(accepted)} accepted, ${words.exact(refused)} refused, ${attempts}`;
}

/** A screen reader hears how the stream is, and now and then what has come: not each row. */
function Announced({ link, tail, paused }: Watched): JSX.Element {
  const newest = useRef(tail);
  newest.current = tail;
  const [summary, setSummary] = useState("");
  useEffect(() => {
    if (paused || link.kind !== "live") return;
    const timer = setInterval(() => setSummary(passed((newest.current ?? tail).counts)), SUMMARY_EVERY);
    return () => clearInterval(timer);
  }, [paused, link.kind]);
  return (
    <p role="status" class="unseen">
      {paused ? "Paused" : LINKS[link.kind]}. {paused ? "" : summary}
    </p>
  );
}

const SUMMARY_EVERY = 20_000;

const LINKS: Readonly<Record<Link["kind"], string>> = {
  opening: "Connecting",
  live: "Live",
  lost: "The stream is lost; trying again",
  resting: "Resting while the tab is hidden",
};

function Nothing({ link, narrowed }: { readonly link: Link; readonly narrowed: boolean }): JSX.Element | null {
  if (link.kind !== "live") return null;
  if (narrowed) {
    return (
      <Empty title="Nothing that matches has happened yet">
        Events appear here as they come. <a href="/live">Show all of them</a>
      </Empty>
    );
  }
  return (
    <Empty title="Nothing has happened yet">
      Events appear here as they come. To send one: <code>fairlead send track --event Hello</code>
    </Empty>
  );
}

/** A row never changes, so it is drawn once. */
const EventRow = memo(
  ({ row: { event } }: { readonly row: Row }): JSX.Element => (
    <tr>
      <td class="line">
        <State state={stateOf(event)} />{" "}
        <time datetime={event.at} title={`${words.moment(event.at)}, ${event.at}`}>
          {words.clockTime(event.at)}
        </time>
      </td>
      <td>{nameOf(event)}</td>
      <td>{pathOf(event)}</td>
      <td>{detailsOf(event)}</td>
    </tr>
  ),
);

function stateOf(event: LiveEvent): string {
  if (event.kind !== "attempted") return event.kind;
  return event.reason === null ? "delivered" : "not delivered";
}

function nameOf(event: LiveEvent): Child {
  const { type, messageId } = event;
  const text = [type ?? "a whole request", "event" in event ? event.event : null]
    .filter((one) => one !== null)
    .join(" ");
  return messageId === null ? text : <a href={pathTo("events", messageId)}>{text}</a>;
}

function pathOf(event: LiveEvent): Child {
  const source = event.source ?? "unknown source";
  if (event.kind === "refused") return source;
  const to = event.kind === "accepted" ? event.destinations : [event.destination];
  return (
    <>
      {source} → {to.length === 0 ? <span class="quiet">nobody</span> : null}
      {to.map((name, nth) => (
        <span key={name}>
          {nth > 0 ? ", " : ""}
          <a href={pathTo("destinations", name)}>{name}</a>
        </span>
      ))}
    </>
  );
}

function detailsOf(event: LiveEvent): Child {
  if (event.kind === "accepted") {
    const { userId } = event;
    return userId === null ? null : <a href={pathWith("/deliveries", { user: userId })}>{userId}</a>;
  }
  if (event.kind === "refused") {
    const { source, code, message } = event;
    return (
      <>
        <a href={pathWith("/refused", { source, code })}>{code}</a>: {message}
      </>
    );
  }
  const { delivery, attempt, status, reason, duration } = event;
  return (
    <>
      <a href={pathTo("deliveries", delivery)}>{delivery}</a>: {reason ?? status}, {words.duration(duration)}
      {attempt > 1 ? `, attempt ${attempt}` : ""}
    </>
  );
}
