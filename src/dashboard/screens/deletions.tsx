import type { Child } from "hono/jsx/dom";
import type { JSX } from "hono/jsx/jsx-runtime";
import type { deletion, deletionList, deletionReceipt } from "../../wire/deletions.ts";
import type { Received } from "../../wire/fields.ts";
import { pathTo, pathWith, useAddress, withQuery } from "../address.ts";
import { usePolled } from "../api.ts";
import { Detail } from "../detail.tsx";
import { TextFilter } from "../filters.tsx";
import { Ago, Empty, Facts, Heading, Loaded, Moment, Section, Share, State, Table } from "../parts.tsx";
import * as words from "../words.ts";

type Deletion = Received<typeof deletion>;
type Receipt = Received<typeof deletionReceipt>;
type Notice = Deletion["notices"][number];

const EVERY = 5_000;

/** Requests to delete users, and what became of their notifications. */
export function Deletions(): JSX.Element {
  const { query } = useAddress();
  const id = query.get("id");
  return (
    <>
      <Heading title="Deletions" />
      <p class="quiet">Each destination that gets events of a deleted user is notified.</p>
      {id === null ? null : <Chosen key={id} id={id} />}
      <Requests />
    </>
  );
}

function Requests(): JSX.Element {
  const address = useAddress();
  const [user, cursor] = [address.query.get("user"), address.query.get("cursor")];
  const answer = usePolled<Received<typeof deletionList>>(pathWith("/api/deletions", { user, cursor }), EVERY);
  return (
    <Section title="Requests">
      <div class="filters">
        <TextFilter name="user" label="User" hint="userId, erased or not" />
      </div>
      <Loaded of={answer}>
        {({ deletions, cursor: next }) => (
          <>
            {deletions.length > 0 ? <List all={deletions} /> : <Nothing user={user} />}
            <p class="actions">
              {cursor === null ? null : <a href={withQuery(address, { cursor: null })}>The newest</a>}
              {next === null ? null : <a href={withQuery(address, { cursor: next })}>Older ones</a>}
            </p>
          </>
        )}
      </Loaded>
    </Section>
  );
}

function Nothing({ user }: { readonly user: string | null }): JSX.Element {
  if (user !== null) {
    return (
      <Empty title={`Nobody has requested to delete “${user}”`}>
        The userId has to be exact. <a href="/deletions">Show all requests</a>
      </Empty>
    );
  }
  return (
    <Empty title="There are no requests">
      To delete a user: <code>fairlead delete-user USER_ID</code>
    </Empty>
  );
}

const HEAD = ["Request", "State", "Requested", { number: "Users" }, "Notifications", "Wishes"];

function List({ all }: { readonly all: readonly Deletion[] }): JSX.Element {
  const address = useAddress();
  return (
    <Table label="Requests" head={HEAD}>
      {all.map((one) => (
        <tr key={one.id}>
          <th scope="row">
            <a href={withQuery(address, { id: one.id })}>{one.id}</a>
          </th>
          <td>
            <State state={stateOf(one)} />
          </td>
          <td>
            <Ago at={one.requestedAt} />
          </td>
          <td class="number">{words.count(one.users)}</td>
          <td>
            <Progress notices={one.notices} />
          </td>
          <td>{wishesOf(one)}</td>
        </tr>
      ))}
    </Table>
  );
}

function stateOf({ status, stage }: Deletion): string {
  return status === "running" && stage === "erasing" ? "erasing" : status;
}

function wishesOf({ erase, suppress }: Deletion): string {
  return [erase ? "erase" : null, suppress ? "suppress" : null].filter((one) => one !== null).join(", ");
}

function Progress({ notices }: { readonly notices: readonly Notice[] }): JSX.Element {
  const sent = total(notices, ({ delivered, forgotten }) => delivered + forgotten);
  const givenUp = total(notices, ({ failed, expired }) => failed + expired);
  const all = sent + givenUp + total(notices, ({ waiting }) => waiting);
  if (all === 0) return <span class="quiet">none yet</span>;
  return (
    <Share value={sent} of={all} label="Notifications that were delivered">
      {words.exact(sent)} of {words.exact(all)}
      {givenUp > 0 ? <strong>, {words.exact(givenUp)} given up</strong> : null}
    </Share>
  );
}

function total(notices: readonly Notice[], count: (one: Notice) => number): number {
  return notices.reduce((sum, one) => sum + count(one), 0);
}

function Chosen({ id }: { readonly id: string }): JSX.Element {
  const back = withQuery(useAddress(), { id: null });
  return (
    <Detail title={`Request ${id}`} back={back}>
      <Loaded of={usePolled<Receipt>(`/api${pathTo("deletions", id)}`, EVERY)}>
        {(one) => (
          <>
            <Facts facts={factsOf(one)} />
            <Advice one={one} />
            <Notices notices={one.notices} />
            <People people={one.people} />
          </>
        )}
      </Loaded>
    </Detail>
  );
}

function factsOf(one: Receipt): readonly (readonly [string, Child])[] {
  const { requestedAt, endedAt, scope, sources, erased } = one;
  return [
    ["State", <State state={stateOf(one)} />],
    ["Requested", <Moment at={requestedAt} />],
    ["Ended", <Moment at={endedAt} absent="not yet" />],
    ["Named sources", scope === null ? "all" : scope.join(", ")],
    [
      "Notifications from",
      sources.length === 0 ? "none: no destination gets events of these sources" : sources.join(", "),
    ],
    ["Wishes", wishesOf(one) || "none"],
    [
      "Erased here",
      erased
        ? `${words.some(erased.events, "event", "events")}, ${words.some(erased.deliveries, "delivery", "deliveries")}`
        : "nothing",
    ],
  ];
}

/** What the operator has to do himself. */
function Advice({ one: { id, stage, erase, untold, notices } }: { readonly one: Receipt }): JSX.Element {
  const stuck = notices.some(({ failed, expired }) => failed + expired > 0) && stage !== "done";
  const given = (state: string): string => pathWith("/deliveries", { type: "delete", state });
  return (
    <>
      {stuck ? (
        <p class="note">
          Notifications were given up: <a href={given("failed")}>failed</a>, <a href={given("expired")}>expired</a>.
          Retry them once their receiver works again.
          {erase ? (
            <>
              {" "}
              Nothing is erased before, unless you say so: <code>fairlead deletions erase {id}</code>
            </>
          ) : null}
        </p>
      ) : null}
      {untold.length > 0 ? (
        <p class="note">
          Not notified: {untold.join(", ")}. They once got events and are no longer in the config. Notify them by other
          means.
        </p>
      ) : null}
    </>
  );
}

const FATES = ["waiting", "delivered", "failed", "expired"] as const;
const NOTICES = [
  "Source",
  "Destination",
  { number: "Waiting" },
  { number: "Delivered" },
  { number: "Failed" },
  { number: "Expired" },
  { number: "Forgotten" },
];

function Notices({ notices }: { readonly notices: readonly Notice[] }): JSX.Element | null {
  if (notices.length === 0) return null;
  return (
    <>
      <h3>Notifications</h3>
      <Table label="Notifications" head={NOTICES}>
        {notices.map((one) => (
          <tr key={`${one.source} ${one.destination}`}>
            <td>{one.source}</td>
            <td>
              <a href={pathTo("destinations", one.destination)}>{one.destination}</a>
            </td>
            {FATES.map((state) => (
              <td key={state} class="number">
                {one[state] === 0 ? (
                  <span class="quiet">0</span>
                ) : (
                  <a href={listOf(one, state)}>{words.exact(one[state])}</a>
                )}
              </td>
            ))}
            <td class="number quiet" title="They were settled; the result is no longer known.">
              {words.exact(one.forgotten)}
            </td>
          </tr>
        ))}
      </Table>
    </>
  );
}

function listOf({ source, destination }: Notice, state: string): string {
  return pathWith("/deliveries", { type: "delete", source, destination, state });
}

function People({ people }: { readonly people: Receipt["people"] }): JSX.Element {
  return (
    <>
      <h3>Users</h3>
      <ul class="cards">
        <li>
          <details>
            <summary>{words.some(people.length, "user", "users")}</summary>
            <ul>
              {people.map(({ userId, hash, suppressed }) => (
                <li key={hash}>
                  {userId ?? (
                    <>
                      erased, SHA-256 <code>{hash}</code>
                    </>
                  )}
                  {suppressed ? " (calls are refused)" : ""}
                </li>
              ))}
            </ul>
          </details>
        </li>
      </ul>
    </>
  );
}
