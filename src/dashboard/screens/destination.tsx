import type { JSX } from "hono/jsx/jsx-runtime";
import type { deliveryList } from "../../wire/deliveries.ts";
import type { Received } from "../../wire/fields.ts";
import type { retriedDestination, testedDestination } from "../../wire/status.ts";
import { pathTo, pathWith, useAddress } from "../address.ts";
import { act, usePolled } from "../api.ts";
import { Charts, type Series } from "../chart.tsx";
import { ChoiceFilter } from "../filters.tsx";
import { Action, Ago, Empty, Facts, Heading, Loaded, Next, Section, State, Table } from "../parts.tsx";
import { type Status, useHindrance, useStatus } from "../status.ts";
import * as words from "../words.ts";
import { Recorded } from "./overview.tsx";

type One = Status["destinations"][number];

/** One destination: its webhooks, its waiting deliveries, and the actions on it. */
export function Destination({ name }: { readonly name: string }): JSX.Element {
  const status = useStatus();
  const one = status.data?.destinations.find((destination) => destination.name === name);
  return (
    <>
      <Heading title={name}>{one ? <Commands one={one} done={status.refresh} /> : null}</Heading>
      <Loaded of={status}>
        {() =>
          one ? (
            <>
              <Summary one={one} />
              <Webhooks one={one} />
              <History name={name} />
              <Failures name={name} />
            </>
          ) : (
            <Empty title={`There is no destination ${name}`}>
              It is not in the config, and nothing waits for it. The <a href="/">overview</a> has those there are.
            </Empty>
          )
        }
      </Loaded>
    </>
  );
}

type CommandsOf = { readonly one: One; readonly done: () => void };

function Commands({ one, done }: CommandsOf): JSX.Element {
  const hindered = useHindrance();
  const unserved = one.state === "removed" || one.state === "disabled" ? `it is ${one.state}` : null;
  const path = `/api/destinations/${encodeURIComponent(one.name)}`;
  return (
    <>
      {one.state === "paused" ? (
        <Action
          label="Resume"
          hindered={hindered}
          done={done}
          run={() => act(`${path}/resume`).then(() => "resumed")}
        />
      ) : (
        <Action
          label="Pause"
          hindered={hindered ?? unserved}
          done={done}
          question={
            <p>
              New events wait until you resume it, also across restarts. The time does not count towards their four
              hours.
            </p>
          }
          run={() => act(`${path}/pause`).then(() => "paused")}
        />
      )}
      <Action
        label="Try now"
        hindered={hindered ?? unserved ?? (one.state === "paused" ? "it is paused" : null)}
        done={done}
        run={async () => {
          const { waiting } = await act<Received<typeof retriedDestination>>(`${path}/retry`);
          return `${words.some(waiting, "delivery is", "deliveries are")} due now`;
        }}
      />
      <Action
        label="Send a test event"
        hindered={hindered ?? unserved}
        question={
          <p>
            A track call “Fairlead Test” with <code>test: true</code> goes to {one.name} alone, as any other event
            would.
          </p>
        }
        run={() => sendTest(path)}
      />
    </>
  );
}

async function sendTest(path: string): Promise<JSX.Element> {
  const { delivery } = await act<Received<typeof testedDestination>>(`${path}/test`);
  return (
    <>
      sent: <a href={pathTo("deliveries", delivery)}>{delivery}</a>
    </>
  );
}

function Summary({ one }: { readonly one: One }): JSX.Element {
  const { name, state, counts, perSecond, heldBack, oldestWaiting, pausedSince, failingSince } = one;
  const since = pausedSince ?? failingSince;
  const link = (of: keyof NonNullable<One["counts"]>): JSX.Element => (
    <a href={pathWith("/deliveries", { destination: name, state: of })}>{counts ? words.exact(counts[of]) : "?"}</a>
  );
  return (
    <Facts
      facts={[
        [
          "State",
          <>
            <State state={state} /> {since === null ? null : <Ago at={since} />}
          </>,
        ],
        [
          "Webhooks out",
          <>
            {words.rate(perSecond)}/s {heldBack && <HeldBack {...heldBack} />}
          </>,
        ],
        [
          "Waiting",
          <>
            {link("waiting")} {oldestWaiting === null ? "" : `the oldest for ${words.duration(oldestWaiting)}`}
          </>,
        ],
        ["Delivered, as far as kept", link("delivered")],
        ["Failed", link("failed")],
        ["Expired", link("expired")],
      ]}
    />
  );
}

function HeldBack({ rate, since }: NonNullable<One["heldBack"]>): JSX.Element {
  return (
    <>
      limited to its rate of {rate}, since <Ago at={since} />
    </>
  );
}

function Webhooks({ one: { webhooks } }: { readonly one: One }): JSX.Element {
  return (
    <Section title="Webhooks">
      {webhooks.length === 0 ? (
        <Empty title="None">The destination is no longer in the config.</Empty>
      ) : (
        <Table label="Webhooks" head={["URL", "State", "Since", "Next attempt", "Last answer"]}>
          {webhooks.map(({ url, state, failingSince, nextTryAt, lastFailure }) => (
            <tr key={url}>
              <th scope="row">{url}</th>
              <td>
                <State state={state} />
              </td>
              <td>
                <Ago at={failingSince} absent="" />
              </td>
              <td>
                <Next at={nextTryAt} absent="at once" />
              </td>
              <td>
                {lastFailure === null ? null : (
                  <>
                    {lastFailure.reason}, <Ago at={lastFailure.at} />
                  </>
                )}
              </td>
            </tr>
          ))}
        </Table>
      )}
    </Section>
  );
}

function History({ name }: { readonly name: string }): JSX.Element {
  const span = useAddress().query.get("span") === "1d" ? "1d" : "1h";
  const series = usePolled<Series>(
    pathWith("/api/series", { span, destination: name }),
    span === "1h" ? 5_000 : 60_000,
  );
  return (
    <Section title="History" note={series.data ? <Recorded since={series.data.since} /> : null}>
      <div class="filters">
        <ChoiceFilter name="span" label="Over" choices={["1d"]} any="an hour" />
      </div>
      <Loaded of={series}>{(of) => <Charts of={of} charts={CHARTS} />}</Loaded>
    </Section>
  );
}

const CHARTS = [
  {
    title: "Attempts",
    unit: "per second",
    lines: [
      { name: "delivered", label: "delivered", tone: "good" },
      { name: "failed", label: "failed", tone: "bad" },
    ],
  },
  {
    title: "Time to answer",
    unit: "ms",
    lines: [
      { name: "p50", label: "half within", tone: "one" },
      { name: "p99", label: "99 % within", tone: "two" },
    ],
  },
  { title: "Backlog", unit: "count", lines: [{ name: "waiting", label: "waiting", tone: "one" }] },
] as const;

type List = Received<typeof deliveryList>;

/** The last ones that were given up: where most look first. */
function Failures({ name }: { readonly name: string }): JSX.Element {
  const filter = { destination: name, state: "failed" };
  const list = usePolled<List>(pathWith("/api/deliveries", Object.assign({ limit: "5" }, filter)), 5_000);
  return (
    <Section title="Given up last">
      <Loaded of={list}>
        {({ deliveries }) =>
          deliveries.length === 0 ? (
            <Empty title="None">Nothing that is kept was given up.</Empty>
          ) : (
            <>
              <Table label="Deliveries given up last" head={["Delivery", "Type", "When", "Why"]}>
                {deliveries.map(({ id, type, settledAt, reason }) => (
                  <tr key={id}>
                    <th scope="row">
                      <a href={pathTo("deliveries", id)}>{id}</a>
                    </th>
                    <td>{type}</td>
                    <td>
                      <Ago at={settledAt} />
                    </td>
                    <td>{reason ?? ""}</td>
                  </tr>
                ))}
              </Table>
              <p>
                <a href={pathWith("/deliveries", filter)}>All of them</a>
              </p>
            </>
          )
        }
      </Loaded>
    </Section>
  );
}
