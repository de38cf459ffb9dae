// The client library prints text of others too, and imports nothing of the daemon.
export { printable } from "../client/show.ts";
