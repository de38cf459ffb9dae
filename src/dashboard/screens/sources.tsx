import type { JSX } from "hono/jsx/jsx-runtime";
import { pathWith, useAddress } from "../address.ts";
import { usePolled } from "../api.ts";
import { Chart, type Line, type Series } from "../chart.tsx";
import { TextFilter } from "../filters.tsx";
import { Ago, Empty, Heading, Loaded, Section, State, Table } from "../parts.tsx";
import { type Status, useStatus } from "../status.ts";
import * as words from "../words.ts";
import { Recorded } from "./overview.tsx";

type Source = Status["sources"][number];

/** Each chart is a question to the daemon every few seconds. */
const MOST_CHARTS = 12;

/** Who sends how much. */
export function Sources(): JSX.Element {
  const { query } = useAddress();
  const wanted = query.get("source") ?? "";
  return (
    <>
      <Heading title="Sources" />
      <Loaded of={useStatus()}>
        {({ sources, startedAt }) => {
          if (sources.length === 0) return <NoSources />;
          const found = sources.filter(({ name }) => name.includes(wanted));
          return (
            <>
              {sources.length > 1 ? <Filter /> : null}
              {found.length === 0 ? (
                <Empty title={`No source has “${wanted}” in its name`}>
                  <a href="/sources">Show all {words.count(sources.length)}</a>
                </Empty>
              ) : (
                <Found sources={found} since={startedAt} />
              )}
            </>
          );
        }}
      </Loaded>
    </>
  );
}

function NoSources(): JSX.Element {
  return (
    <Empty title="There are no sources yet">
      No call is accepted without one. Add one under <code>sources:</code> in the config; it takes effect when you save
      the file.
    </Empty>
  );
}

function Filter(): JSX.Element {
  return (
    <div class="filters">
      <TextFilter name="source" label="Source" hint="a part of its name" />
    </div>
  );
}

function Found({ sources, since }: { readonly sources: readonly Source[]; readonly since: string }): JSX.Element {
  const charts = sources.slice(0, MOST_CHARTS);
  return (
    <>
      <Table label="Sources" head={HEAD}>
        {sources.map((one) => (
          <SourceRow key={one.name} one={one} />
        ))}
      </Table>
      <Section title="The last hour" note={<Recorded since={since} />}>
        {charts.length < sources.length ? (
          <p class="quiet">Charts of the first {charts.length}: filter by name to see others.</p>
        ) : null}
        <div class="charts">
          {charts.map(({ name }) => (
            <SourceChart key={name} name={name} />
          ))}
        </div>
      </Section>
    </>
  );
}

const HEAD = ["Name", "State", { number: "Accepted" }, "Last call", "Limits", "More"];

function SourceRow({ one: { name, enabled, perSecond, lastAt, limits } }: { readonly one: Source }): JSX.Element {
  return (
    <tr>
      <th scope="row">{name}</th>
      <td>
        <State state={enabled ? "enabled" : "disabled"} />
      </td>
      <td class="number">{words.rate(perSecond)}/s</td>
      <td>
        <Ago at={lastAt} absent="none since the start" />
      </td>
      <td>{limitsOf(limits)}</td>
      <td>
        <a href={pathWith("/live", { source: name })}>live</a>,{" "}
        <a href={pathWith("/refused", { source: name })}>refused</a>,{" "}
        <a href={pathWith("/deliveries", { source: name })}>deliveries</a>
      </td>
    </tr>
  );
}

function limitsOf(limits: Source["limits"]): string {
  if (limits === null) return "none";
  const { rate, waiting, refusing } = limits;
  const bytes = waiting?.bytes ?? null;
  const parts = [
    ...(rate === null ? [] : [`at most ${rate}`]),
    ...(waiting === null ? [] : [`${bytes === null ? "?" : words.size(bytes)} of ${words.size(waiting.max)} waiting`]),
    ...(refusing === null ? [] : [`${words.some(refusing.requests, "request", "requests")} refused lately`]),
  ];
  return parts.join(", ");
}

function SourceChart({ name }: { readonly name: string }): JSX.Element {
  const series = usePolled<Series>(pathWith("/api/series", { span: "1h", source: name }), 10_000);
  return (
    <div>
      <Loaded of={series}>{(of) => <Chart title={name} of={of} unit="per second" lines={LINES} />}</Loaded>
    </div>
  );
}

const LINES: readonly Line[] = [
  { name: "accepted", label: "accepted", tone: "one" },
  { name: "refused", label: "refused", tone: "two" },
];
