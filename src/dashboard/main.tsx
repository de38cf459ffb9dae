/** The dashboard: one page for all paths, on the API that /openapi.json describes. */

import { type Child, render, useState } from "hono/jsx/dom";
import type { JSX } from "hono/jsx/jsx-runtime";
import { followLinks, useAddress } from "./address.ts";
import { enterToken, forgetToken, hasToken, now, useConnection, usePolled } from "./api.ts";
import { Empty, Heading } from "./parts.tsx";
import { Audiences } from "./screens/audiences.tsx";
import { Deletions } from "./screens/deletions.tsx";
import { Deliveries } from "./screens/deliveries.tsx";
import { Delivery } from "./screens/delivery.tsx";
import { Destination } from "./screens/destination.tsx";
import { EventStory, FindEvent } from "./screens/event.tsx";
import { Live } from "./screens/live.tsx";
import { Overview } from "./screens/overview.tsx";
import { Refused } from "./screens/refused.tsx";
import { Sources } from "./screens/sources.tsx";
import { System } from "./screens/system.tsx";
import { type Status, StatusContext } from "./status.ts";
import * as words from "./words.ts";

type Params = readonly string[];
type Screen = { readonly path: RegExp; readonly draw: (params: Params) => Child };

const SCREENS: readonly Screen[] = [
  { path: /^\/$/, draw: () => <Overview /> },
  { path: /^\/destinations\/([^/]+)$/, draw: ([name = ""]) => <Destination key={name} name={name} /> },
  { path: /^\/deliveries$/, draw: () => <Deliveries /> },
  { path: /^\/deliveries\/([^/]+)$/, draw: ([id = ""]) => <Delivery key={id} id={id} /> },
  { path: /^\/events$/, draw: () => <FindEvent /> },
  { path: /^\/events\/([^/]+)$/, draw: ([messageId = ""]) => <EventStory key={messageId} messageId={messageId} /> },
  { path: /^\/live$/, draw: () => <Live /> },
  { path: /^\/refused$/, draw: () => <Refused /> },
  { path: /^\/sources$/, draw: () => <Sources /> },
  { path: /^\/audiences$/, draw: () => <Audiences /> },
  { path: /^\/deletions$/, draw: () => <Deletions /> },
  { path: /^\/system$/, draw: () => <System /> },
];

/** The navigation: a path, and its name. */
const PLACES: readonly (readonly [path: string, name: string])[] = [
  ["/", "Overview"],
  ["/deliveries", "Deliveries"],
  ["/events", "Find an event"],
  ["/live", "Live"],
  ["/refused", "Refused"],
  ["/sources", "Sources"],
  ["/audiences", "Audiences"],
  ["/deletions", "Deletions"],
  ["/system", "System"],
];

function App(): JSX.Element {
  const { token } = useConnection();
  const status = usePolled<Status>("/api/status");
  return (
    <StatusContext.Provider value={status}>
      <a class="skip" href="#main" data-plain>
        Skip to the content
      </a>
      <Side status={status.data} />
      <main id="main">
        <Lost />
        {token === "enough" ? <CurrentScreen /> : <SignIn wrong={token === "wrong"} />}
      </main>
    </StatusContext.Provider>
  );
}

function Side({ status }: { readonly status: Status | null }): JSX.Element {
  const { path } = useAddress();
  const problems = status?.problems.length ?? 0;
  return (
    <nav aria-label="Screens">
      <a class="brand" href="/">
        Fairlead
      </a>
      <ul>
        {PLACES.map(([to, name]) => (
          <li key={to}>
            <a href={to} aria-current={isWithin(path, to) ? "page" : undefined}>
              {name}
              {to === "/" && problems > 0 ? (
                <span class="badge">
                  {words.count(problems)} <span class="unseen">{problems === 1 ? "problem" : "problems"}</span>
                </span>
              ) : null}
            </a>
          </li>
        ))}
      </ul>
      <p class="quiet version">
        {status ? `Fairlead ${status.version}` : ""}
        {status?.access === "read" ? <span class="badge">may only look</span> : null}
        {hasToken() ? (
          <button type="button" class="plain" onClick={forgetToken}>
            Sign out
          </button>
        ) : null}
      </p>
    </nav>
  );
}

function isWithin(path: string, place: string): boolean {
  if (place === "/") return path === "/" || path.startsWith("/destinations/");
  return path === place || path.startsWith(`${place}/`);
}

function CurrentScreen(): Child {
  const { path } = useAddress();
  for (const screen of SCREENS) {
    const match = screen.path.exec(path);
    if (match) return screen.draw(match.slice(1).map(decode));
  }
  return (
    <>
      <Heading title="Nothing is here" />
      <Empty title={`There is no screen ${path}`}>The address may come from another version of Fairlead.</Empty>
    </>
  );
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** What is on the page gets old without a connection, and must not look as if it were new. */
function Lost(): JSX.Element | null {
  const { lostAt } = useConnection();
  return (
    <div role="alert">
      {lostAt === null ? null : (
        <p class="lost">
          The daemon does not answer since {words.clockTime(new Date(lostAt).toISOString())} (
          {words.duration(Math.max(0, now() - lostAt))}). The page shows older data. The page keeps trying.
        </p>
      )}
    </div>
  );
}

/** Asks for the token that the config names. */
function SignIn({ wrong }: { readonly wrong: boolean }): JSX.Element {
  const [typed, setTyped] = useState("");
  return (
    <>
      <Heading title="Token" />
      <form
        class="sign-in"
        onSubmit={(event: Event) => {
          event.preventDefault();
          enterToken(typed);
        }}
      >
        <label for="token">
          The config sets a token for this listener: <code>admin.token</code>, or <code>admin.readToken</code> to look
          only.
        </label>
        <input
          id="token"
          type="password"
          autocomplete="off"
          required
          value={typed}
          onInput={(event: Event) => setTyped((event.target as HTMLInputElement).value)}
        />
        {wrong ? <p role="alert">This token is not the one in the config.</p> : null}
        <button type="submit" class="main">
          Open
        </button>
        <p class="quiet">This tab keeps it until you close it.</p>
      </form>
    </>
  );
}

const place = document.getElementById("page");
if (place) {
  followLinks();
  render(<App />, place);
}
