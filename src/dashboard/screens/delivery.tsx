import { useState } from "hono/jsx/dom";
import type { JSX } from "hono/jsx/jsx-runtime";
import type { deliveryDetail, retriedDelivery } from "../../wire/deliveries.ts";
import type { Received } from "../../wire/fields.ts";
import { pathTo, pathWith } from "../address.ts";
import { act, usePolled } from "../api.ts";
import { laidOut } from "../json.ts";
import { Action, Ago, Copy, Empty, Facts, Heading, Loaded, Moment, Next, Section, State } from "../parts.tsx";
import { useHindrance } from "../status.ts";
import * as words from "../words.ts";

type Detail = Received<typeof deliveryDetail>;
type Attempt = Detail["log"]["first"][number];

/** Everything that is known of one delivery. */
export function Delivery({ id }: { readonly id: string }): JSX.Element {
  const path = `/api/deliveries/${encodeURIComponent(id)}`;
  const detail = usePolled<Detail>(path);
  const hindered = useHindrance();
  return (
    <>
      <Heading title={`Delivery ${id}`}>
        <Action
          label={detail.data?.state === "waiting" ? "Try now" : "Send again"}
          hindered={hindered ?? (detail.data === null ? "it is not there" : null)}
          question={
            detail.data?.state === "delivered" ? (
              <p>It was already delivered: the receiver gets it a second time.</p>
            ) : undefined
          }
          run={async () => DID[(await act<Retried>(`${path}/retry`)).did] ?? "done"}
          done={detail.refresh}
        />
      </Heading>
      <Loaded of={detail}>
        {(one) => (
          <>
            <Summary one={one} />
            <Attempts one={one} />
            <Body text={one.body} />
            <Requests one={one} />
          </>
        )}
      </Loaded>
    </>
  );
}

type Retried = Received<typeof retriedDelivery>;
const DID: Readonly<Record<string, string>> = {
  replayed: "it waits again",
  hurried: "it is due now",
  due: "it was due already",
};

function Summary({ one }: { readonly one: Detail }): JSX.Element {
  const {
    destination,
    state,
    source,
    type,
    messageId,
    userId,
    acceptedAt,
    dueAt,
    heldBack,
    settledAt,
    replayedAt,
    reason,
  } = one;
  return (
    <>
      <Facts
        facts={[
          ["State", <State state={state} />],
          ["Destination", <a href={pathTo("destinations", destination)}>{destination}</a>],
          ["Why", reason ?? (one.status === null ? "not tried yet" : `${one.url} answered ${one.status}`)],
          ["Next attempt", heldBack ? `waits for ${heldBack.why}` : <Next at={dueAt} absent="none" />],
          ["Event", <a href={pathTo("events", messageId)}>{messageId}</a>],
          ["Call", `${type} from ${source}`],
          [
            "User",
            userId === null ? (
              <span class="quiet">anonymous</span>
            ) : (
              <a href={pathWith("/deliveries", { user: userId })}>{userId}</a>
            ),
          ],
          ["Came", <Moment at={acceptedAt} />],
          ["Settled", <Moment at={settledAt} absent="not yet" />],
          ...(replayedAt === null ? [] : [["Sent again", <Moment at={replayedAt} />] as const]),
        ]}
      />
      {one.troubled.map(({ url, state: webhook, nextTryAt, lastFailure }) => (
        <p key={url} class="note">
          <State state={webhook} /> It waits for {url}
          {lastFailure === null ? "" : ` (${lastFailure.reason})`}
          {nextTryAt === null ? null : (
            <>
              {", which is tried "}
              <Ago at={nextTryAt} />
            </>
          )}
          .
        </p>
      ))}
    </>
  );
}

function Attempts({ one: { log, attempts } }: { readonly one: Detail }): JSX.Element {
  const { first, omitted, last } = log;
  return (
    <Section title="Attempts" note={words.some(attempts, "round so far", "rounds so far")}>
      {first.length + last.length === 0 ? (
        <Empty title="None yet">It is sent as soon as its destination can take it.</Empty>
      ) : (
        <ol class="timeline">
          {first.map((attempt) => (
            <AttemptLine key={`${attempt.at} ${attempt.url}`} {...attempt} />
          ))}
          {omitted > 0 ? <li class="quiet">{words.some(omitted, "attempt is", "attempts are")} not kept</li> : null}
          {last.map((attempt) => (
            <AttemptLine key={`${attempt.at} ${attempt.url}`} {...attempt} />
          ))}
        </ol>
      )}
    </Section>
  );
}

function AttemptLine({ at, url, duration, outcome, status, reason, answer, trigger }: Attempt): JSX.Element {
  return (
    <li>
      <p>
        <Moment at={at} /> <State state={outcome} /> {reason}
        {status === null || reason.includes(String(status)) ? "" : ` (${status})`}
      </p>
      <p class="quiet">
        {url}
        {duration === null ? "" : `, ${words.duration(duration)}`}
        {TRIGGERS[trigger] ?? ""}
      </p>
      {answer ? <pre>{answer}</pre> : null}
    </li>
  );
}

const TRIGGERS: Readonly<Record<string, string>> = {
  probe: ", a probe whether it works again",
  replay: ", sent again by command",
};

function Body({ text }: { readonly text: string }): JSX.Element {
  const [exact, setExact] = useState(false);
  return (
    <Section title="Body" note="What every receiver gets, byte for byte.">
      <p class="actions">
        <Copy text={text} />
        <label>
          <input type="checkbox" checked={exact} onClick={() => setExact(!exact)} /> exactly as it is sent
        </label>
      </p>
      <pre tabindex={0}>{exact ? text : laidOut(text)}</pre>
    </Section>
  );
}

function Requests({ one: { requests, destination } }: { readonly one: Detail }): JSX.Element {
  return (
    <Section title="Request" note="By the config in force; *** stands for what it keeps secret.">
      {requests.length === 0 ? (
        <Empty title={`${destination} is no longer in the config`}>
          Put it back, or move its deliveries to another one.
        </Empty>
      ) : (
        requests.map(({ url, headers }) => (
          <pre key={url}>
            {[`POST ${url}`, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`)].join("\n")}
          </pre>
        ))
      )}
    </Section>
  );
}
