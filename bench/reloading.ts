import { writeFileSync } from "node:fs";
import type { Server } from "./contender.ts";

/** In ms, from the start of one reload to the start of the next. */
const EVERY = 250;

export type Reloading = {
  readonly server: Pick<Server, "config" | "adminPort">;
  /** Another config for each revision; the server was started with number 0. */
  readonly configOf: (revision: number) => string;
};

/** How long each reload took, in ms. */
type Reloaded<T> = { readonly result: T; readonly durations: readonly number[] };

/** Reloads the config of Fairlead, four times a second, until the work is done. Rejects when a reload changes nothing. */
export async function whileReloading<T>(reloading: Reloading, work: () => Promise<T>): Promise<Reloaded<T>> {
  let done = false;
  const working = work().finally(() => {
    done = true;
  });
  const [result, durations] = await Promise.all([working, reloadUntil(() => done, reloading)]);
  return { result, durations };
}

async function reloadUntil(isDone: () => boolean, { server, configOf }: Reloading): Promise<readonly number[]> {
  const durations: number[] = [];
  while (!isDone()) {
    const pause = Bun.sleep(EVERY);
    writeFileSync(server.config, configOf(durations.length + 1));
    durations.push(await reload(server));
    await pause;
  }
  return durations;
}

/** Answers how long it took, in ms. */
async function reload({ adminPort }: Reloading["server"]): Promise<number> {
  const startedAt = performance.now();
  const url = `http://127.0.0.1:${adminPort}/api/reload`;
  const response = await fetch(url, { method: "POST", headers: { "Content-Type": "application/json" } });
  const answer = (await response.json()) as Answer;
  const took = performance.now() - startedAt;
  if (answer.changes?.length === CHANGES && answer.problems?.length === 0) return took;
  throw new Error(`a reload did not do what it should: ${JSON.stringify(answer)}`);
}

/** An error has none of it, or only problems. */
type Answer = { readonly changes?: readonly string[]; readonly problems?: readonly unknown[] };

/** One source is gone, another is new, the destination that names it has another list, and a webhook another header. */
const CHANGES = 4;
