import { useId, useState } from "hono/jsx/dom";
import type { JSX } from "hono/jsx/jsx-runtime";
import type { triedCall } from "../../wire/deliveries.ts";
import type { Received } from "../../wire/fields.ts";
import { pathTo } from "../address.ts";
import { act, Refusal, toRefusal } from "../api.ts";
import { laidOut } from "../json.ts";
import { Coded, Empty, Problem, Section, State, Table } from "../parts.tsx";
import { useHindrance, useStatus } from "../status.ts";

type Tried = Received<typeof triedCall>;

const EXAMPLE = `{
  "type": "track",
  "userId": "u1",
  "event": "Order Completed",
  "properties": { "total": 42 }
}`;

/** Says who would get a call, without sending it. */
export function TryCall(): JSX.Element {
  const [typed, setTyped] = useState(EXAMPLE);
  const [source, setSource] = useState("");
  const [tried, setTried] = useState<Tried | Refusal | null>(null);
  const hindered = useHindrance();
  const id = useId();
  return (
    <Section
      title="Try a call"
      note="Shows who would get the call by the config in force, and why others would not. Nothing is sent."
    >
      <form
        class="try-call"
        onSubmit={async (event: Event) => {
          event.preventDefault();
          setTried(await answerTo(typed, source));
        }}
      >
        <label for={id}>The call as JSON</label>
        <textarea
          id={id}
          rows={8}
          spellcheck={false}
          required
          value={typed}
          onInput={(event: Event) => setTyped((event.target as HTMLTextAreaElement).value)}
        />
        <SourceChoice chosen={source} choose={setSource} />
        <button type="submit" class="main" disabled={hindered !== null} title={hindered ?? undefined}>
          Try
        </button>
      </form>
      <div role="status">{tried === null ? null : <Result of={tried} />}</div>
    </Section>
  );
}

type Choice = { readonly chosen: string; readonly choose: (name: string) => void };

function SourceChoice({ chosen, choose }: Choice): JSX.Element {
  const id = useId();
  const enabled = (useStatus().data?.sources ?? []).filter((one) => one.enabled);
  return (
    <label class="filter" for={id}>
      Source
      <select id={id} value={chosen} onChange={(event: Event) => choose((event.target as HTMLSelectElement).value)}>
        {enabled.map(({ name }, nth) => (
          <option key={name} value={name} selected={name === chosen || (chosen === "" && nth === 0)}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The text goes as it is typed, so that long numbers keep their digits. */
async function answerTo(call: string, source: string): Promise<Tried | Refusal> {
  try {
    JSON.parse(call);
  } catch (error) {
    return new Refusal("invalid_json", `the call is not JSON: ${(error as Error).message}`);
  }
  try {
    const sender = source === "" ? "" : `"source":${JSON.stringify(source)},`;
    return await act<Tried>("/api/route", `{${sender}"call":${call}}`);
  } catch (error) {
    return toRefusal(error);
  }
}

function Result({ of }: { readonly of: Tried | Refusal }): JSX.Element {
  if (!("results" in of)) return <Problem error={of} />;
  const { source, results } = of;
  if (results.length === 0) return <Empty title="The config has no destinations">Calls go nowhere.</Empty>;
  return (
    <Table label={`Who would get this call from ${source}`} head={["Destination", `From ${source}`, "Why"]}>
      {results.map(({ destination, gets, rule, why, body }) => (
        <tr key={destination}>
          <th scope="row">
            <a href={pathTo("destinations", destination)}>{destination}</a>
          </th>
          <td>
            <State state={gets ? "gets it" : "left out"} tone={gets ? "good" : "calm"} />
          </td>
          <td>
            <Coded text={why} /> {rule === null ? null : <code>{rule}</code>}
            {body === null ? null : <pre tabindex={0}>{laidOut(body)}</pre>}
          </td>
        </tr>
      ))}
    </Table>
  );
}
