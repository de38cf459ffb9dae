/**
 * What Fairlead needs of prom-client, part by part: its main file brings a push gateway and a cluster with it, and for
 * them node:https, which costs 10 MB and 15 ms at the start.
 */

export type { Histogram } from "prom-client";
export { default as Counter } from "prom-client/lib/counter.js";
export { default as Gauge } from "prom-client/lib/gauge.js";
export { default as Registry } from "prom-client/lib/registry.js";
