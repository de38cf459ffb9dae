import { useState } from "hono/jsx/dom";
import type { JSX } from "hono/jsx/jsx-runtime";
import { reasonOf } from "../../model/rules.ts";
import type { deliveryDetail, trail } from "../../wire/deliveries.ts";
import type { Received } from "../../wire/fields.ts";
import { go, pathTo } from "../address.ts";
import { usePolled } from "../api.ts";
import { laidOut } from "../json.ts";
import { Ago, Coded, Empty, Facts, Heading, Loaded, Moment, Section, State, Table } from "../parts.tsx";
import * as words from "../words.ts";
import { TryCall } from "./try-call.tsx";

type Trail = Received<typeof trail>;
type Found = Trail["events"][number];

/** Finds a call by its messageId. */
export function FindEvent(): JSX.Element {
  const [typed, setTyped] = useState("");
  return (
    <>
      <Heading title="Find an event" />
      <form
        class="sign-in"
        onSubmit={(event: Event) => {
          event.preventDefault();
          if (typed.trim() !== "") go(pathTo("events", typed.trim()));
        }}
      >
        <label for="message-id">The messageId of a call: its client chose it, or found it in the answer.</label>
        <input
          id="message-id"
          type="search"
          required
          value={typed}
          onInput={(event: Event) => setTyped((event.target as HTMLInputElement).value)}
        />
        <button type="submit" class="main">
          Find
        </button>
        <p class="quiet">
          You know only the user? Look at the <a href="/deliveries">deliveries</a> by user.
        </p>
      </form>
      <TryCall />
    </>
  );
}

/** The story of a call: when it came, where it went, and why not elsewhere. */
export function EventStory({ messageId }: { readonly messageId: string }): JSX.Element {
  const found = usePolled<Trail>(`/api/events/${encodeURIComponent(messageId)}`);
  return (
    <>
      <Heading title={`Event ${messageId}`} />
      <Loaded of={found}>
        {(story) => (
          <>
            {story.events.map((event) => (
              <Story key={event.event} event={event} />
            ))}
            <Refusals story={story} />
            <Seen story={story} />
            {isEmpty(story) ? <Unknown story={story} /> : null}
          </>
        )}
      </Loaded>
    </>
  );
}

function isEmpty({ events, rejected, seen }: Trail): boolean {
  return events.length + rejected.length + seen.length === 0;
}

function Story({ event }: { readonly event: Found }): JSX.Element {
  const { source, type, userId, acceptedAt, deliveries, skipped, forgotten, whole } = event;
  return (
    <>
      <Facts
        facts={[
          ["Accepted", <Moment at={acceptedAt} />],
          ["Call", `${type} from ${source}`],
          ["User", userId ?? <span class="quiet">anonymous</span>],
        ]}
      />
      <Section title="Where it went">
        {deliveries.length === 0 ? (
          <Empty title="No delivery is stored">
            {whole ? "No destination took it: see below why." : "It is older than the delivered ones that are kept."}
          </Empty>
        ) : (
          <Table label="Deliveries of this event" head={["Delivery", "State", "Settled", "Why"]}>
            {deliveries.map(({ id, state, settledAt, heldBack, reason, served, destination }) => (
              <tr key={id}>
                <th scope="row">
                  <a href={pathTo("deliveries", id)}>{id}</a>
                </th>
                <td>
                  <State state={state} />
                </td>
                <td>
                  <Ago at={settledAt} absent="not yet" />
                </td>
                <td>
                  {heldBack ? `waits for ${heldBack.why}` : (reason ?? "")}
                  {served === "yes" || state !== "waiting" ? "" : ` (${destination} is ${served})`}
                </td>
              </tr>
            ))}
          </Table>
        )}
        {forgotten.length > 0 ? <p class="quiet">The result is no longer known for {forgotten.join(", ")}.</p> : null}
      </Section>
      {deliveries[0] ? <Call id={deliveries[0].id} /> : null}
      {skipped.length === 0 ? null : (
        <Section title="Where it did not go, and why">
          <ul>
            {skipped.map(({ destination, rule }) => (
              <li key={destination}>
                <a href={pathTo("destinations", destination)}>{destination}</a>: <Coded text={reasonOf(rule)} />
              </li>
            ))}
          </ul>
        </Section>
      )}
    </>
  );
}

/** What came, as its first delivery has it, and from which client. */
function Call({ id }: { readonly id: string }): JSX.Element {
  const detail = usePolled<Received<typeof deliveryDetail>>(`/api/deliveries/${encodeURIComponent(id)}`, null);
  return (
    <Section title="The call">
      <Loaded of={detail}>
        {({ body }) => (
          <>
            <p class="quiet">Sent by {clientOf(body) ?? "a client that does not say its name"}.</p>
            <pre tabindex={0}>{laidOut(body)}</pre>
          </>
        )}
      </Loaded>
    </Section>
  );
}

function clientOf(body: string): string | null {
  try {
    const { name, version } = JSON.parse(body).context.library;
    return typeof name === "string" ? [name, version].filter((part) => typeof part === "string").join(" ") : null;
  } catch {
    return null;
  }
}

function Refusals({ story: { rejected, rejectedSince } }: { readonly story: Trail }): JSX.Element | null {
  if (rejected.length === 0) return null;
  return (
    <Section
      title="Refused"
      note={
        <>
          Refusals are remembered since <Ago at={rejectedSince} />.
        </>
      }
    >
      <ul>
        {rejected.map(({ at, code, message }) => (
          <li key={at}>
            <Moment at={at} />: {message} <code>{code}</code>
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Seen({ story: { seen } }: { readonly story: Trail }): JSX.Element | null {
  if (seen.length === 0) return null;
  return (
    <Section title="Seen in the last 24 hours" note="A repeat of it is answered, and not delivered again.">
      <ul>
        {seen.map(({ source, at }) => (
          <li key={source}>
            from {source}, <Moment at={at} />
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Unknown({ story: { messageId, complete, rejectedSince, limited } }: { readonly story: Trail }): JSX.Element {
  return (
    <Empty title={`Nothing is known of ${messageId}`}>
      {complete ? "" : "The search did not cover everything that is kept. "}
      It never came, or its source removed it from what is kept; refusals are remembered since{" "}
      <Ago at={rejectedSince} />. Look at the <a href="/refused">refused</a> ones.
      {limited.map(({ source, code, since, until, requests }) => (
        <span key={source}>
          {" "}
          From <Moment at={since} /> to <Moment at={until} />, {words.some(requests, "request", "requests")} of {source}{" "}
          got {code}, of which only the last one is shown there.
        </span>
      ))}
    </Empty>
  );
}
