/** A plan as text: short enough to be read, and complete enough to be run again. */
import { ACTS, type ActName } from "./acts.ts";
import type { Plan, Step } from "./plan.ts";
import type { Verdict } from "./run.ts";
import { FIRST_SHAPE, type Shape } from "./world/shape.ts";

/** One line for the plan, and one for each step: the name of the act, and what it is run with. */
export function writePlan({ seed, shape, steps }: Plan): string {
  const head = `plan ${JSON.stringify({ seed, ...differences(shape) })}`;
  return [head, ...steps.map(writeStep)].join("\n");
}

export function writeStep({ act, with: given }: Step): string {
  return Object.keys(given).length === 0 ? act : `${act} ${JSON.stringify(given)}`;
}

/** Reads what `writePlan` has written; other lines are passed over, so that a whole trace may be given. */
export function readPlan(text: string): Plan {
  let plan: Omit<Plan, "steps"> | null = null;
  const steps: Step[] = [];
  for (const line of text.split("\n")) {
    const [, word = "", json = "{}"] = /^\s*(?:\d+\.? )?(\w+)(?: (\{.*\}))?$/.exec(line) ?? [];
    if (word === "plan") {
      const { seed, ...changed } = JSON.parse(json) as Partial<Shape> & { seed: number };
      plan = { seed, shape: { ...FIRST_SHAPE, ...changed } };
    } else if (plan && Object.hasOwn(ACTS, word)) {
      steps.push({ act: word as ActName, with: JSON.parse(json) });
    }
  }
  if (!plan) throw new Error('there is no plan in this text: it begins with a line like `plan {"seed":1}`');
  return { ...plan, steps };
}

/** What a person needs to know of a run that has failed. */
export function writeTrace(plan: Plan, { failedAt, wrong }: Verdict): string {
  const after = failedAt === null || failedAt >= plan.steps.length ? "the calm at the end" : `step ${failedAt + 1}`;
  const lines = writePlan(plan).split("\n");
  const numbered = lines.map((line, nth) => (nth === 0 ? line : `${String(nth).padStart(3)} ${line}`));
  return [...numbered, `wrong after ${after}:`, ...wrong.slice(0, 5).map((one) => `  ${one}`)].join("\n");
}

function differences(shape: Shape): Readonly<Record<string, unknown>> {
  const entries = Object.entries(shape).filter(([key, value]) => value !== FIRST_SHAPE[key as keyof Shape]);
  return Object.fromEntries(entries);
}
