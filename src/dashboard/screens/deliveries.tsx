import { useState } from "hono/jsx/dom";
import type { JSX } from "hono/jsx/jsx-runtime";
import type { deliveryList } from "../../wire/deliveries.ts";
import type { Received } from "../../wire/fields.ts";
import { pathTo, pathWith, useAddress, withQuery } from "../address.ts";
import { act, Refusal, toRefusal, usePolled } from "../api.ts";
import { ChoiceFilter, TextFilter } from "../filters.tsx";
import { Action, Ago, Empty, Heading, Loaded, Next, State, Table } from "../parts.tsx";
import { useHindrance, useStatus } from "../status.ts";
import * as words from "../words.ts";
import { BulkRetry } from "./bulk-retry.tsx";

type List = Received<typeof deliveryList>;
export type Delivery = List["deliveries"][number];

const FILTERS = ["state", "destination", "source", "type", "user", "since", "until"] as const;
export type Filter = Readonly<Record<(typeof FILTERS)[number], string | null>>;

const STATES = ["waiting", "delivered", "failed", "expired"];
const TYPES = ["identify", "track", "page", "screen", "group", "alias", "delete"];
const PAGE = "50";

/** Deliveries by a filter that the address holds, with commands for one, some, or all of them. */
export function Deliveries(): JSX.Element {
  const address = useAddress();
  const cursor = address.query.get("cursor");
  const filter = Object.fromEntries(FILTERS.map((name) => [name, address.query.get(name)])) as Filter;
  const path = pathWith("/api/deliveries", Object.assign({ limit: PAGE, cursor }, filter));
  // A page further down is about the past, and stands still.
  const list = usePolled<List>(path, cursor === null ? 5_000 : null);
  return (
    <>
      <Heading title="Deliveries" />
      <Filters />
      <Loaded of={list}>
        {({ deliveries, cursor: next }) => (
          <>
            <Rows key={path} deliveries={deliveries} filter={filter} refresh={list.refresh} more={next !== null} />
            <p class="actions">
              {cursor === null ? null : <a href={withQuery(address, { cursor: null })}>← First page</a>}
              {next === null ? null : <a href={withQuery(address, { cursor: next })}>Older →</a>}
            </p>
          </>
        )}
      </Loaded>
    </>
  );
}

function Filters(): JSX.Element {
  const { data } = useStatus();
  const { path, query } = useAddress();
  const names = (of: readonly { readonly name: string }[] | undefined): readonly string[] =>
    (of ?? []).map(({ name }) => name);
  const isSet = FILTERS.some((name) => query.has(name));
  return (
    <search class="filters">
      <ChoiceFilter name="state" label="State" choices={STATES} />
      <ChoiceFilter name="destination" label="Destination" choices={names(data?.destinations)} />
      <ChoiceFilter name="source" label="Source" choices={names(data?.sources)} />
      <ChoiceFilter name="type" label="Type" choices={TYPES} />
      <TextFilter name="user" label="User" hint="userId" />
      <TextFilter name="since" label="Since" hint="2h, 2026-01-31T10:00Z" />
      <TextFilter name="until" label="Until" hint="30min" />
      {isSet ? <a href={path}>Clear</a> : null}
    </search>
  );
}

type RowsOf = {
  readonly deliveries: readonly Delivery[];
  readonly filter: Filter;
  readonly refresh: () => void;
  readonly more: boolean;
};

function Rows({ deliveries, filter, refresh, more }: RowsOf): JSX.Element {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const hindered = useHindrance();
  const shown = deliveries.map(({ id }) => id).filter((id) => chosen.has(id));
  const all = shown.length === deliveries.length;
  return (
    <>
      <div class="actions bar">
        <Action
          label={shown.length === 0 ? "Retry selected" : `Retry ${words.count(shown.length)} selected`}
          hindered={hindered ?? (shown.length === 0 ? "select some deliveries first" : null)}
          run={() => retryAll(shown)}
          done={() => {
            setChosen(new Set());
            refresh();
          }}
        />
        {filter.state === "waiting" ? null : <BulkRetry filter={filter} hindered={hindered} done={refresh} />}
      </div>
      {/* The bar stays when nothing matches: it says what was done. */}
      {deliveries.length === 0 ? (
        <Nothing more={more} />
      ) : (
        <Table
          label="Deliveries"
          head={[
            <input
              type="checkbox"
              aria-label="Select all on this page"
              checked={all}
              onClick={() => setChosen(new Set(all ? [] : deliveries.map(({ id }) => id)))}
            />,
            "Delivery",
            "State",
            "Source",
            "Type",
            "User",
            "Came",
            { number: "Attempts" },
            "Last answer",
          ]}
        >
          {deliveries.map((one) => (
            <Row key={one.id} one={one} chosen={chosen.has(one.id)} choose={() => setChosen(toggled(chosen, one.id))} />
          ))}
        </Table>
      )}
    </>
  );
}

type RowOf = { readonly one: Delivery; readonly chosen: boolean; readonly choose: () => void };

function Row({ one, chosen, choose }: RowOf): JSX.Element {
  const { id, state, source, type, userId, acceptedAt, attempts, dueAt, heldBack, reason, status } = one;
  return (
    <tr>
      <td>
        <input type="checkbox" aria-label={`Select ${id}`} checked={chosen} onClick={choose} />
      </td>
      <th scope="row">
        <a href={pathTo("deliveries", id)}>{id}</a>
      </th>
      <td>
        <State state={state} />
      </td>
      <td>{source}</td>
      <td>{type}</td>
      <td>{userId ?? <span class="quiet">anonymous</span>}</td>
      <td>
        <Ago at={acceptedAt} />
      </td>
      <td class="number">{words.count(attempts)}</td>
      <td>
        {reason ?? (status === null ? "" : `answered ${status}`)}
        {dueAt === null ? null : (
          <span class="quiet">
            {" next: "}
            {heldBack ? `waits for ${heldBack.why}` : <Next at={dueAt} absent="" />}
          </span>
        )}
      </td>
    </tr>
  );
}

function Nothing({ more }: { readonly more: boolean }): JSX.Element {
  const { query } = useAddress();
  // A page looks at a bounded number of deliveries, of which none may match.
  if (more)
    return <Empty title="No match so far">Older deliveries were not searched yet: continue with “Older”.</Empty>;
  if (FILTERS.some((name) => query.has(name))) {
    return (
      <Empty title="No delivery matches">
        Deliveries are kept for a while only: clear a filter, or look by messageId.
      </Empty>
    );
  }
  return (
    <Empty title="There are no deliveries yet">
      Send a call: <code>fairlead send track "Order Completed"</code>
    </Empty>
  );
}

function toggled(chosen: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const next = new Set(chosen);
  if (!next.delete(id)) next.add(id);
  return next;
}

/** One after the other; stops at the first that is refused, and says how many went before. */
async function retryAll(ids: readonly string[]): Promise<string> {
  for (const [nth, id] of ids.entries()) {
    try {
      await act(`/api/deliveries/${encodeURIComponent(id)}/retry`);
    } catch (error) {
      const { code, message } = toRefusal(error);
      throw new Refusal(code, `${nth} of ${ids.length} are due now; ${id}: ${message}`);
    }
  }
  return `${words.some(ids.length, "delivery is", "deliveries are")} due now`;
}
