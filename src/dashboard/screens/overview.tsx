import type { JSX } from "hono/jsx/jsx-runtime";
import { pathTo, pathWith } from "../address.ts";
import { usePolled } from "../api.ts";
import { Charts, type Series } from "../chart.tsx";
import { Ago, Empty, Heading, Loaded, Section, State, Table } from "../parts.tsx";
import { type Status, useStatus } from "../status.ts";
import * as words from "../words.ts";

/** Whether everything flows, and what is wrong since when. */
export function Overview(): JSX.Element {
  return (
    <>
      <Heading title="Overview" />
      <Loaded of={useStatus()}>
        {(status) => (
          <>
            <Problems status={status} />
            <Numbers status={status} />
            <Flow />
            <Destinations status={status} />
          </>
        )}
      </Loaded>
    </>
  );
}

function Problems({ status: { problems } }: { readonly status: Status }): JSX.Element {
  if (problems.length === 0) return <p class="well">✓ Everything flows.</p>;
  return (
    <Section title={words.some(problems.length, "problem", "problems")}>
      <ProblemList problems={problems} />
    </Section>
  );
}

/** What is wrong, since when, and what to do about it. */
export function ProblemList({ problems }: Pick<Status, "problems">): JSX.Element {
  return (
    <ul class="problems">
      {problems.map(({ level, code, what, since, remedy, destination }) => (
        <li key={`${code} ${what}`} class={level}>
          <p>
            <State state={level} /> {what}
            {since === null ? null : (
              <>
                {", since "}
                <Ago at={since} />
              </>
            )}
          </p>
          <p class="quiet">
            What to do: {remedy}
            {destination === undefined ? null : (
              <>
                {" · "}
                <a href={pathTo("destinations", destination)}>{destination}</a>
              </>
            )}
          </p>
        </li>
      ))}
    </ul>
  );
}

function Numbers({ status: { sources, destinations } }: { readonly status: Status }): JSX.Element {
  const total = (of: readonly number[]): number => of.reduce((sum, one) => sum + one, 0);
  const waiting = total(destinations.map(({ counts }) => counts?.waiting ?? 0));
  const failed = total(destinations.map(({ counts }) => (counts ? counts.failed + counts.expired : 0)));
  const oldest = Math.max(0, ...destinations.map(({ oldestWaiting }) => oldestWaiting ?? 0));
  const known = destinations.every(({ counts }) => counts !== null);
  return (
    <ul class="numbers">
      <li>
        <strong>{words.rate(total(sources.map(({ perSecond }) => perSecond)))}/s</strong> events in
      </li>
      <li>
        <strong>{words.rate(total(destinations.map(({ perSecond }) => perSecond)))}/s</strong> webhooks out
      </li>
      <li>
        <a href="/deliveries?state=waiting">
          <strong>{known ? words.count(waiting) : "?"}</strong> waiting
        </a>
        {waiting > 0 ? <span class="quiet"> oldest {words.duration(oldest)}</span> : null}
      </li>
      <li>
        <a href="/deliveries?state=failed">
          <strong>{known ? words.count(failed) : "?"}</strong> given up
        </a>
      </li>
    </ul>
  );
}

function Flow(): JSX.Element {
  const series = usePolled<Series>("/api/series?span=1h", 5_000);
  return (
    <Section title="The last hour" note={series.data ? <Recorded since={series.data.since} /> : null}>
      <Loaded of={series}>{(of) => <Charts of={of} charts={CHARTS} />}</Loaded>
    </Section>
  );
}

const CHARTS = [
  {
    title: "Flow",
    unit: "per second",
    lines: [
      { name: "accepted", label: "events in", tone: "one" },
      { name: "delivered", label: "webhooks out", tone: "good" },
    ],
  },
  {
    title: "Trouble",
    unit: "per second",
    lines: [
      { name: "failed", label: "failed attempts", tone: "bad" },
      { name: "refused", label: "refused calls", tone: "two" },
    ],
  },
  { title: "Backlog", unit: "count", lines: [{ name: "waiting", label: "waiting", tone: "one" }] },
] as const;

/** History is in memory only, and the page says so. */
export function Recorded({ since }: { readonly since: string }): JSX.Element {
  return (
    <>
      Recorded since <Ago at={since} />; a restart of the daemon starts over.
    </>
  );
}

function Destinations({ status: { destinations } }: { readonly status: Status }): JSX.Element {
  if (destinations.length === 0) {
    return (
      <Section title="Destinations">
        <Empty title="There are no destinations yet">
          Events are accepted but go nowhere. Add a destination under <code>destinations:</code> in the config; it takes
          effect when you save the file.
        </Empty>
      </Section>
    );
  }
  return (
    <Section title="Destinations">
      <Table label="Destinations" head={HEAD}>
        {destinations.map((one) => (
          <DestinationRow key={one.name} one={one} />
        ))}
      </Table>
    </Section>
  );
}

const HEAD = [
  "Name",
  "State",
  { number: "Out" },
  { number: "Waiting" },
  { number: "Oldest" },
  { number: "Given up" },
  "Why",
];

type Destination = Status["destinations"][number];

function DestinationRow({ one }: { readonly one: Destination }): JSX.Element {
  const { name, state, counts, perSecond, oldestWaiting, lastError } = one;
  const list = (of: string): string => pathWith("/deliveries", { destination: name, state: of });
  return (
    <tr>
      <th scope="row">
        <a href={pathTo("destinations", name)}>{name}</a>
      </th>
      <td>
        <State state={state} />
      </td>
      <td class="number">{words.rate(perSecond)}/s</td>
      <td class="number">{counts ? <a href={list("waiting")}>{words.count(counts.waiting)}</a> : "?"}</td>
      <td class="number">{oldestWaiting === null ? "" : words.duration(oldestWaiting)}</td>
      <td class="number">
        {counts ? <a href={list("failed")}>{words.count(counts.failed + counts.expired)}</a> : "?"}
      </td>
      <td>{why(one) ?? (lastError === null ? "" : lastError.reason)}</td>
    </tr>
  );
}

function why({ pausedSince, failingSince, lastError }: Destination): JSX.Element | null {
  if (pausedSince !== null) {
    return (
      <>
        since <Ago at={pausedSince} />
      </>
    );
  }
  if (failingSince === null) return null;
  return (
    <>
      {lastError?.reason ?? "failing"}, since <Ago at={failingSince} />
    </>
  );
}
