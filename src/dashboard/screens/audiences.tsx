import type { JSX } from "hono/jsx/jsx-runtime";
import type { computation, computationList, sync } from "../../wire/computations.ts";
import type { Received } from "../../wire/fields.ts";
import { pathTo, pathWith, useAddress } from "../address.ts";
import { usePolled } from "../api.ts";
import { Detail } from "../detail.tsx";
import { Ago, Empty, Facts, Heading, Loaded, Moment, Section, Share, State, Table } from "../parts.tsx";
import * as words from "../words.ts";

type Computation = Received<typeof computation>;
type Sync = Received<typeof sync>;
type Kind = "audience" | "trait";

const EVERY = 5_000;

/** The lists of users that are kept in step with receivers. */
export function Audiences(): JSX.Element {
  const { query } = useAddress();
  const [source, name] = [query.get("source"), query.get("name")];
  const kind = query.get("class") === "trait" ? "trait" : "audience";
  return (
    <>
      <Heading title="Audiences" />
      {source === null || name === null ? null : (
        <Chosen key={`${kind} ${source} ${name}`} of={{ kind, source, name }} />
      )}
      <AudienceList />
      <TraitList />
    </>
  );
}

function AudienceList(): JSX.Element {
  const answer = usePolled<Received<typeof computationList.audience>>("/api/audiences", EVERY);
  return (
    <Section title="Audiences" note="Receivers get a call for each user who enters or leaves one.">
      <Loaded of={answer}>
        {({ audiences }) =>
          audiences.length > 0 ? (
            <List label="Audiences" all={audiences} />
          ) : (
            <Empty title="There are no audiences yet">
              An audience is made by its first list:{" "}
              <code>fairlead audience sync big-spenders members.csv --source website</code>
            </Empty>
          )
        }
      </Loaded>
    </Section>
  );
}

function TraitList(): JSX.Element {
  const answer = usePolled<Received<typeof computationList.trait>>("/api/traits", EVERY);
  return (
    <Section title="Traits" note="Receivers get a call for each user whose value changes.">
      <Loaded of={answer}>
        {({ traits }) =>
          traits.length > 0 ? (
            <List label="Traits" all={traits} />
          ) : (
            <Empty title="There are no traits yet">
              A trait is made by its first list: <code>fairlead traits sync plan values.csv --source website</code>
            </Empty>
          )
        }
      </Loaded>
    </Section>
  );
}

const HEAD = ["Name", "Source", { number: "Users" }, "Last sync", "Progress", "Changes"];

function List({ label, all }: { readonly label: string; readonly all: readonly Computation[] }): JSX.Element {
  return (
    <Table label={label} head={HEAD}>
      {all.map((one) => (
        <ListRow key={one.id} one={one} />
      ))}
    </Table>
  );
}

function ListRow({ one }: { readonly one: Computation }): JSX.Element {
  const { source, name, size, lastSync } = one;
  return (
    <tr>
      <th scope="row">
        <a href={pathWith("/audiences", { class: one.class, source, name })}>{name}</a>
      </th>
      <td>
        <a href={pathWith("/sources", { source })}>{source}</a>
      </td>
      <td class="number">{words.count(size)}</td>
      <td>
        <Ago at={lastSync?.startedAt ?? null} />
      </td>
      <td>{lastSync ? <Progress of={lastSync} /> : null}</td>
      <td>{lastSync ? changesOf(lastSync) : null}</td>
    </tr>
  );
}

function Progress({ of }: { readonly of: Sync }): JSX.Element {
  const { state, done, added, changed, removed } = of;
  const all = added + changed + removed;
  if (state === "finished") return <State state={state} />;
  return (
    <Share value={done} of={all} label="Changes that are in the outbox">
      {words.exact(done)} of {words.exact(all)}
    </Share>
  );
}

function changesOf({ added, changed, removed }: Sync): string {
  const parts = [
    added > 0 ? `${words.exact(added)} added` : null,
    changed > 0 ? `${words.exact(changed)} changed` : null,
    removed > 0 ? `${words.exact(removed)} removed` : null,
  ].filter((one) => one !== null);
  return parts.length === 0 ? "none" : parts.join(", ");
}

type Choice = { readonly kind: Kind; readonly source: string; readonly name: string };
type Answer = Partial<Readonly<Record<Kind, Computation>>> & { readonly syncs: readonly Sync[] };

/** The one whose name was followed, with its last syncs. */
function Chosen({ of: { kind, source, name } }: { readonly of: Choice }): JSX.Element {
  const answer = usePolled<Answer>(`/api${pathTo("sources", source, `${kind}s`, name)}`, EVERY);
  return (
    <Detail title={`The ${kind} ${name}`} back="/audiences">
      <Loaded of={answer}>
        {(answer) => {
          const one = answer[kind];
          return (
            <>
              {one ? <Facts facts={factsOf(one)} /> : null}
              <h3>Its last syncs</h3>
              <Table label={`Syncs of ${name}`} head={SYNCS}>
                {answer.syncs.map((sync) => (
                  <SyncRow key={sync.number} sync={sync} />
                ))}
              </Table>
            </>
          );
        }}
      </Loaded>
    </Detail>
  );
}

function factsOf({
  source,
  key,
  id,
  size,
  createdAt,
}: Computation): readonly (readonly [string, JSX.Element | string])[] {
  return [
    ["Source", <a href={pathWith("/sources", { source })}>{source}</a>],
    ["Trait that receivers get", <code>{key}</code>],
    ["computation_id", <code>{id}</code>],
    ["Users", words.exact(size)],
    ["Created", <Moment at={createdAt} />],
    ["Its calls", <a href={pathWith("/deliveries", { source, type: "identify" })}>deliveries of {source}</a>],
  ];
}

const SYNCS = ["Sync", "What", "Started", "Took", "Progress", "Changes"];

const WHAT: Readonly<Record<string, string>> = {
  list: "the whole list",
  members: "some users",
  removal: "its removal",
  silent_removal: "its removal, without calls",
};

function SyncRow({ sync }: { readonly sync: Sync }): JSX.Element {
  const { number, kind, startedAt, finishedAt } = sync;
  return (
    <tr>
      <th scope="row">{number}</th>
      <td>{WHAT[kind] ?? kind}</td>
      <td>
        <Ago at={startedAt} />
      </td>
      <td>{finishedAt === null ? "" : words.duration(Date.parse(finishedAt) - Date.parse(startedAt))}</td>
      <td>
        <Progress of={sync} />
      </td>
      <td>{changesOf(sync)}</td>
    </tr>
  );
}
