/**
 * Copies an outbox from one engine to the other, in batches. Each batch is one transaction of the target, with a mark that says
 * which outbox is copied and how far: a copy that was interrupted is continued from there. Until the end the mark keeps
 * daemons from the target.
 */
import type { At } from "../../model/units.ts";
import { type Batch, describeTotals, PARTS, type Part, type Totals } from "./rows.ts";

/** How far a copy is. */
export type Mark = {
  /** Which outbox is copied. */
  readonly source: number;
  /** It changes when a daemon writes into that outbox. */
  readonly state: number;
  /** The index in PARTS, and how many of its rows are copied. */
  readonly part: number;
  readonly rows: number;
};

/** Hashes of users are made with these. */
export type Secrets = { readonly salt: string; readonly callKey: string };

/** The outbox that is copied. Nobody else has it open. */
export type Source = {
  /** For messages. */
  readonly name: string;
  /** Whether it is itself a copy that was not finished. */
  isUnfinished(): Promise<boolean>;
  /** Stays the same as long as the outbox exists. */
  identity(): Promise<number>;
  /** Another one once a daemon has opened it, or has gone on after it was frozen. Cheap: it is asked for with each batch. */
  state(): Promise<number>;
  secrets(): Promise<Secrets>;
  /** How many rows a part has. */
  count(part: Part): Promise<number>;
  /** The rows after so many, always in the same order. */
  batches(part: Part, skip: number): AsyncIterable<Batch>;
  totals(): Promise<Totals>;
  /** The lowest number that no event has had. */
  nextEvent(): Promise<number>;
  /** By the clock that its times go by, as they are copied. */
  now(): Promise<At>;
};

export type Target = {
  readonly name: string;
  /** Null if no copy has begun. */
  mark(): Promise<Mark | null>;
  isEmpty(): Promise<boolean>;
  /** Whether a daemon has it open after all, which it had when the copy began. Cheap: it is asked for with each batch. */
  isInUse(): Promise<boolean>;
  begin(mark: Mark, secrets: Secrets): Promise<void>;
  /** One transaction. */
  write(batch: Batch, mark: Mark): Promise<void>;
  totals(): Promise<Totals>;
  /** Removes the mark: the copy is an outbox from now on. */
  finish(end: End): Promise<void>;
};

/** What the target goes on from. */
export type End = { readonly totals: Totals; readonly nextEvent: number; readonly now: At };

export type CopyFault = { readonly code: CopyFaultCode; readonly message: string };
type CopyFaultCode =
  | "source_unfinished"
  | "target_not_empty"
  | "copy_of_another"
  | "source_changed"
  | "outbox_in_use"
  | "copy_differs"
  | "interrupted";

/** The progress in rows. `began`: those that an earlier run has copied. */
export type Copying = { readonly done: number; readonly total: number; readonly began: number };

type CopyJob = {
  readonly source: Source;
  readonly target: Target;
  readonly stepped: (copying: Copying) => void;
  /** Ends the copy after the batch under way. */
  readonly signal: AbortSignal;
};

export type Copied = { readonly totals: Totals; readonly rows: number; readonly resumed: boolean };

export async function copyOutbox(job: CopyJob): Promise<Copied | CopyFault> {
  const { source, target } = job;
  if (await source.isUnfinished()) return unfinished(source);
  const begun = await begin(source, target);
  if ("code" in begun) return begun;
  const { mark, resumed } = begun;
  const copied = await copyParts(job, mark);
  if (typeof copied !== "number") return copied;
  if ((await source.state()) !== mark.state) return changed(job);
  const [totals, found] = [await source.totals(), await target.totals()];
  if (describeTotals(totals) !== describeTotals(found)) return differs(job, totals, found);
  await target.finish({ totals, nextEvent: await source.nextEvent(), now: await source.now() });
  return { totals, rows: copied, resumed };
}

type Begun = { readonly mark: Mark; readonly resumed: boolean };

/** Continues from the mark of the target, or makes one. */
async function begin(source: Source, target: Target): Promise<Begun | CopyFault> {
  const [identity, state, mark] = [await source.identity(), await source.state(), await target.mark()];
  if (mark === null) {
    if (!(await target.isEmpty())) return notEmpty(target);
    const first = { source: identity, state, part: 0, rows: 0 };
    await target.begin(first, await source.secrets());
    return { mark: first, resumed: false };
  }
  if (mark.source !== identity) return ofAnother(source, target);
  return mark.state === state ? { mark, resumed: true } : changed({ source, target });
}

/** Answers how many rows there are. */
async function copyParts(job: CopyJob, mark: Mark): Promise<number | CopyFault> {
  const { source, target, stepped, signal } = job;
  const counts: number[] = [];
  for (const part of PARTS) counts.push(await source.count(part));
  const total = sum(counts);
  const began = sum(counts.slice(0, mark.part)) + mark.rows;
  let done = began;
  for (const [index, part] of PARTS.entries()) {
    if (index < mark.part) continue;
    let rows = index === mark.part ? mark.rows : 0;
    for await (const batch of source.batches(part, rows)) {
      if (signal.aborted) return interrupted(target);
      // Rather now than after hours: the copy could not be continued.
      if ((await source.state()) !== mark.state) return changed(job);
      if (await target.isInUse()) return inUse(target);
      rows += batch.rows.length;
      await target.write(batch, { ...mark, part: index, rows });
      done += batch.rows.length;
      stepped({ done, total, began });
    }
  }
  return signal.aborted ? interrupted(target) : total;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}

type Ends = { readonly source: Source; readonly target: Target };

function unfinished({ name }: Source): CopyFault {
  return { code: "source_unfinished", message: `${name} is itself an unfinished copy: finish it first` };
}

function notEmpty({ name }: Target): CopyFault {
  const message = `${name} already holds an outbox, and a copy needs an empty place: name another one, or remove that outbox first`;
  return { code: "target_not_empty", message };
}

function ofAnother(source: Source, target: Target): CopyFault {
  const message = `${target.name} is an unfinished copy of another outbox than ${source.name}: continue that copy, or start with an empty place`;
  return { code: "copy_of_another", message };
}

function changed({ source, target }: Ends): CopyFault {
  const message = `a daemon has had ${source.name} open since the copy began: empty ${target.name}, and copy again while no daemon runs`;
  return { code: "source_changed", message };
}

function inUse({ name }: Target): CopyFault {
  return { code: "outbox_in_use", message: `a daemon has ${name} open: stop all daemons, empty it, and copy again` };
}

function interrupted({ name }: Target): CopyFault {
  return { code: "interrupted", message: `interrupted; the same command continues the copy in ${name}` };
}

function differs({ source, target }: Ends, totals: Totals, found: Totals): CopyFault {
  const [wanted, got] = [describeTotals(totals).split("\n"), describeTotals(found).split("\n")];
  const missing = wanted.find((line) => !got.includes(line)) ?? "less";
  const instead = got.find((line) => !wanted.includes(line)) ?? "less";
  const message = `the copy is not the same: ${source.name} has ${missing}, and ${target.name} ${instead}; empty it, and copy again`;
  return { code: "copy_differs", message };
}
