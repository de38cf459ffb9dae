import { type Child, useState } from "hono/jsx/dom";
import type { JSX } from "hono/jsx/jsx-runtime";
import type { Received } from "../../wire/fields.ts";
import type { refusedConfig, reloaded } from "../../wire/status.ts";
import { act, Refusal, usePolled } from "../api.ts";
import { Action, Ago, Copy, Empty, Facts, Heading, Loaded, Moment, Section, Share, State, Table } from "../parts.tsx";
import { type Status, useHindrance, useStatus } from "../status.ts";
import * as words from "../words.ts";
import { ProblemList } from "./overview.tsx";

/** The daemon itself: its outbox, its clock, its config, and the daemons beside it. */
export function System(): JSX.Element {
  return (
    <>
      <Heading title="System" />
      <Loaded of={useStatus()}>
        {(status) => (
          <>
            <ProblemList problems={status.problems.filter(({ destination }) => destination === undefined)} />
            <Outbox outbox={status.outbox} />
            <Config config={status.config} />
            <Daemon status={status} />
            <Daemons daemons={status.daemons} />
          </>
        )}
      </Loaded>
    </>
  );
}

function Outbox({ outbox }: { readonly outbox: Status["outbox"] }): JSX.Element {
  const { path, used, max, free } = outbox;
  return (
    <Section
      title="Outbox"
      note="Delivered events are removed first when room is needed, waiting ones never. Without room, calls are refused."
    >
      <Facts
        facts={[
          ["State", stateOf(outbox)],
          [
            "Size",
            <Share value={used} of={max} label="Used of outbox.maxSize" tone={used < CROWDED * max ? "calm" : "bad"}>
              {words.size(used)} of {words.size(max)}
            </Share>,
          ],
          ["Free on its disk", free === null ? <span class="quiet">not known</span> : words.size(free)],
          ["Path", <code>{path}</code>],
        ]}
      />
    </Section>
  );
}

/** Above that the daemon calls it nearly full. */
const CROWDED = 0.8;

function stateOf({ away, gone, full, writable }: Status["outbox"]): JSX.Element {
  if (away !== null) return <State state="the database does not answer" tone="bad" />;
  if (gone !== null) return <State state={gone.what} tone="bad" />;
  if (full !== null) return <State state={`full (outbox.${full})`} tone="bad" />;
  return writable ? <State state="has room" tone="good" /> : <State state="cannot be written" tone="bad" />;
}

type Reload = Received<typeof reloaded> | Received<typeof refusedConfig>;

function Config({ config }: { readonly config: Status["config"] }): JSX.Element {
  const { file, readAt, refused, needsRestart } = config;
  const [reload, setReload] = useState<Reload | null>(null);
  return (
    <Section title="Config">
      <Facts
        facts={[
          [
            "State",
            refused ? <State state="the file is refused" tone="bad" /> : <State state="in force" tone="good" />,
          ],
          ["File", <code>{file}</code>],
          ["Read", <Moment at={readAt} />],
          ["Take effect at the next start", needsRestart.length > 0 ? needsRestart.join(", ") : "nothing"],
        ]}
      />
      <p>
        <Action label="Reload" run={() => reloadConfig(setReload)} hindered={useHindrance()} />
      </p>
      {reload === null ? null : <Reloaded reload={reload} />}
      <ConfigText key={readAt} />
    </Section>
  );
}

/** Reloads the config, and keeps what came of it. */
async function reloadConfig(keep: (reload: Reload) => void): Promise<string> {
  try {
    const done = await act<Received<typeof reloaded>>("/api/reload");
    keep(done);
    return done.changes.length === 0 ? "reloaded: no changes" : "reloaded";
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== "config_invalid") throw error;
    keep(error.answer as Received<typeof refusedConfig>);
    throw error;
  }
}

function Reloaded({ reload }: { readonly reload: Reload }): JSX.Element {
  const changes = "changes" in reload ? reload.changes : [];
  return (
    <>
      {changes.length > 0 ? (
        <ul>
          {changes.map((one) => (
            <li key={one}>{one}</li>
          ))}
        </ul>
      ) : null}
      <ul class="problems">
        {reload.problems.map(({ severity, file, line, column, path, message, text }) => (
          <li key={`${line} ${column} ${message}`} class={severity}>
            <p>
              <State state={severity} /> <code>{`${file}:${line}:${column}`}</code> {path ? `${path}: ` : ""}
              {message}
            </p>
            <pre tabindex={0}>{pointAt(text, column)}</pre>
          </li>
        ))}
      </ul>
    </>
  );
}

/** The line without its indentation, and a caret below the column. */
function pointAt(line: string, column: number): string {
  const start = line.length - line.trimStart().length;
  return `${line.trim()}\n${" ".repeat(Math.max(0, column - 1 - start))}^`;
}

/** Drawn again after a reload. */
function ConfigText(): JSX.Element {
  const answer = usePolled<{ readonly text: string }>("/api/config", null);
  return (
    <ul class="cards">
      <li>
        <details>
          <summary>The config in force, without secrets</summary>
          <Loaded of={answer}>
            {({ text }) => (
              <>
                <pre tabindex={0}>{text}</pre>
                <Copy text={text} />
              </>
            )}
          </Loaded>
        </details>
      </li>
    </ul>
  );
}

function Daemon({ status }: { readonly status: Status }): JSX.Element {
  const { version, pid, startedAt, clock } = status;
  return (
    <Section title="This daemon">
      <Facts
        facts={[
          ["Version", version],
          ["Process", String(pid)],
          ["Started", <Moment at={startedAt} />],
          [
            "Clock",
            clock.plausible ? <State state="plausible" tone="good" /> : <State state="implausible" tone="bad" />,
          ],
        ]}
      />
    </Section>
  );
}

const TOGETHER = "Daemons that share the outbox";

const HEAD = [
  "Daemon on",
  "State",
  "Last beat",
  { number: "Process" },
  "Version",
  "Started",
  "Streams",
  { number: "Waiting" },
  "Role",
];

type SharedDaemon = NonNullable<Status["daemons"]>[number];

function Daemons({ daemons }: { readonly daemons: Status["daemons"] }): JSX.Element | null {
  if (daemons === null) {
    return (
      <Section title={TOGETHER}>
        <Empty title="Unknown while the database does not answer">They appear when it answers.</Empty>
      </Section>
    );
  }
  if (daemons.length === 0) return null;
  return (
    <Section
      title={TOGETHER}
      note="Each writes and delivers its own streams. The others take the streams of one that is silent."
    >
      <Table label="Daemons" head={HEAD}>
        {daemons.map((one) => (
          <DaemonRow key={one.name} one={one} />
        ))}
      </Table>
    </Section>
  );
}

function DaemonRow({ one }: { readonly one: SharedDaemon }): JSX.Element {
  const { host, alive, silentFor, pid, version, startedAt, streams } = one;
  return (
    <tr>
      <th scope="row">{host}</th>
      <td>
        <State state={alive ? "alive" : "silent"} />
      </td>
      <td>{silentFor < 1_000 ? "now" : `${words.duration(silentFor)} ago`}</td>
      <td class="number">{pid}</td>
      <td>{version}</td>
      <td>
        <Ago at={startedAt} />
      </td>
      <td>{streams.map(({ id, waiting }) => streamOf(id, waiting)).join(", ") || <span class="quiet">none</span>}</td>
      <td class="number">{words.count(streams.reduce((sum, { waiting }) => sum + waiting, 0))}</td>
      <td>{rolesOf(one)}</td>
    </tr>
  );
}

function streamOf(id: number, waiting: number): string {
  return waiting > 0 ? `${id} (${words.count(waiting)} waiting)` : String(id);
}

function rolesOf({ self, leads }: SharedDaemon): Child {
  return [self ? "answers this page" : null, leads ? "leads" : null].filter((one) => one !== null).join(", ");
}
