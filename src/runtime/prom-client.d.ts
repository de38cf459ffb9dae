/**
 * The parts of prom-client that Fairlead imports one by one: its main file brings a push gateway and a cluster with it, and
 * for them node:https, which costs 10 MB and 15 ms at the start. The package has types for its main file alone.
 */
declare module "prom-client/lib/counter.js" {
  export { Counter as default } from "prom-client";
}
declare module "prom-client/lib/gauge.js" {
  export { Gauge as default } from "prom-client";
}
declare module "prom-client/lib/registry.js" {
  export { Registry as default } from "prom-client";
}
