import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export type Target = { readonly refId: string; readonly expr: string; readonly legendFormat?: string };

export type Panel = {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly datasource?: { readonly type: string; readonly uid: string };
  readonly targets?: readonly Target[];
  readonly fieldConfig?: { readonly defaults: { readonly unit?: string; readonly mappings?: readonly unknown[] } };
  /** Of a row that is closed at first: what is in it. */
  readonly panels?: readonly Panel[];
};

type Variable = { readonly name: string; readonly type: string; readonly query: string | { readonly query: string } };

export type Dashboard = {
  readonly uid: string;
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly Variable[] };
};

export function readDashboard(): Dashboard {
  const path = fileURLToPath(new URL("../../packaging/grafana/fairlead.json", import.meta.url));
  return JSON.parse(readFileSync(path, "utf8"));
}

export type Query = { readonly where: string; readonly expr: string; readonly legend: string };

/** All panels that show something, also those of closed rows. */
export function panelsOf({ panels }: Dashboard): readonly Panel[] {
  return panels.flatMap((panel) => [panel, ...(panel.panels ?? [])]).filter(({ type }) => type !== "row");
}

/** The queries of the panels, each with its place. */
export function queriesOf(dashboard: Dashboard): readonly Query[] {
  return panelsOf(dashboard).flatMap(({ title, targets = [] }) =>
    targets.map(({ refId, expr, legendFormat = "" }) => ({ where: `${title} ${refId}`, expr, legend: legendFormat })),
  );
}
