import type { JSX } from "hono/jsx/jsx-runtime";
import type { rejectionList } from "../../wire/deliveries.ts";
import type { Received } from "../../wire/fields.ts";
import { pathTo, pathWith, useAddress } from "../address.ts";
import { usePolled } from "../api.ts";
import { ChoiceFilter } from "../filters.tsx";
import { Ago, Copy, Empty, Facts, Heading, Loaded, State } from "../parts.tsx";
import { useStatus } from "../status.ts";
import * as words from "../words.ts";

type Rejections = Received<typeof rejectionList>["rejected"];
type Rejection = Rejections[number];

/** The daemon keeps no more of them, so the page has all, and chooses from them itself. */
const ALL = "/api/rejected?limit=100";

/** Calls that were turned away: who sent them, and why they were not accepted. */
export function Refused(): JSX.Element {
  const { query } = useAddress();
  const [source, code] = [query.get("source"), query.get("code")];
  return (
    <>
      <Heading title="Refused" />
      <p class="quiet">
        The last 100 calls that were turned away. They are kept in memory: a restart of the daemon starts over.
      </p>
      <Loaded of={usePolled<{ readonly rejected: Rejections }>(ALL, 3_000)}>
        {({ rejected }) => {
          const found = rejected.filter(
            (one) => (source === null || one.source === source) && (code === null || one.code === code),
          );
          return (
            <>
              <Filters rejected={rejected} />
              {found.length > 0 ? (
                <List rejected={found} />
              ) : (
                <Nothing narrowed={source !== null || code !== null} all={rejected.length} />
              )}
            </>
          );
        }}
      </Loaded>
    </>
  );
}

function Filters({ rejected }: { readonly rejected: Rejections }): JSX.Element {
  const sources = useStatus().data?.sources ?? [];
  const codes = [...new Set(rejected.map(({ code }) => code))].sort();
  return (
    <div class="filters">
      <ChoiceFilter name="source" label="Source" choices={sources.map(({ name }) => name)} />
      <ChoiceFilter name="code" label="Code" choices={codes} />
    </div>
  );
}

function Nothing({ narrowed, all }: { readonly narrowed: boolean; readonly all: number }): JSX.Element {
  if (!narrowed || all === 0) {
    return (
      <Empty title="No call was refused since the daemon was started">
        If calls are missing all the same, they have not reached the daemon: look at <a href="/sources">the sources</a>,
        or run <code>fairlead send --help</code> to send one by hand.
      </Empty>
    );
  }
  return (
    <Empty title="No refused call matches">
      {words.some(all, "other was", "others were")} turned away. <a href="/refused">Show all</a>
    </Empty>
  );
}

function List({ rejected }: { readonly rejected: Rejections }): JSX.Element {
  const seen = new Map<string, number>();
  return (
    <ul class="cards">
      {rejected.map((one) => (
        <Card key={keyOf(one, seen)} one={one} />
      ))}
    </ul>
  );
}

/** Refusals have no name of their own. The key keeps a card open when newer refusals arrive. */
function keyOf({ at, source, code, sample }: Rejection, seen: Map<string, number>): string {
  const key = JSON.stringify([at, source, code, sample]);
  const nth = seen.get(key) ?? 0;
  seen.set(key, nth + 1);
  return `${nth} ${key}`;
}

function Card({ one }: { readonly one: Rejection }): JSX.Element {
  const { at, source, type, code, message, count, sample } = one;
  return (
    <li>
      <details>
        <summary>
          <State state={code} tone="warn" /> <strong>{source ?? "unknown source"}</strong> {type ?? "a whole request"}
          {count > 1 ? `, ${words.exact(count)} calls` : ""}{" "}
          <span class="quiet">
            <Ago at={at} />
          </span>
          <span class="reason">{message}</span>
        </summary>
        <Facts facts={factsOf(one)} />
        <p class="quiet">The call begins with:</p>
        <pre tabindex={0}>{sample}</pre>
        <Copy text={sample} />
      </details>
    </li>
  );
}

function factsOf({
  messageId,
  request,
  from,
  source,
}: Rejection): readonly (readonly [string, JSX.Element | string])[] {
  const unknown = <span class="quiet">not known</span>;
  return [
    ["Request", <code>{request}</code>],
    ["Source", source === null ? unknown : <a href={pathWith("/sources", { source })}>{source}</a>],
    ["messageId", messageId === null ? unknown : <a href={pathTo("events", messageId)}>{messageId}</a>],
    ["Address", from.address ?? unknown],
    ["User agent", from.userAgent ?? unknown],
    ["Page (Origin)", from.origin ?? unknown],
  ];
}
