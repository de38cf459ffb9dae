import { BlockList, isIP } from "node:net";
import process from "node:process";

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The proxy that a POST to this URL goes through, as `host:port`; null if it goes there directly. Only for words: Bun's
 * `fetch` reads the environment itself, by these rules (lower case counts first, and empty is as good as not set).
 */
export function proxyFor(url: string, env: Environment = process.env): string | null {
  const target = URL.parse(url);
  if (target === null) return null;
  const scheme = target.protocol === "https:" ? "https_proxy" : "http_proxy";
  const written = read(scheme, env) || read("all_proxy", env);
  if (written === "" || isExcepted(target, read("no_proxy", env))) return null;
  return URL.parse(written.includes("://") ? written : `http://${written}`)?.host || `of ${scheme.toUpperCase()}`;
}

function read(name: string, env: Environment): string {
  return env[name] || env[name.toUpperCase()] || "";
}

function isExcepted(target: URL, list: string): boolean {
  return list.split(/[\s,]+/).some((entry) => entry !== "" && covers(entry.toLowerCase(), target));
}

/** An entry is a host with all below it, an address or a network, each with or without a port; or a star for all. */
function covers(entry: string, { hostname, port, protocol }: URL): boolean {
  const host = hostname.replace(/^\[|\]$/g, "");
  if (entry === "*" || entry === host) return true;
  if (entry.includes("/")) return isInNetwork(host, entry);
  const [, name = "", ofPort] = /^(?:\*?\.)?\[?(.*?)\]?(?::(\d+))?$/.exec(entry) ?? [];
  if (ofPort !== undefined && ofPort !== (port || (protocol === "https:" ? "443" : "80"))) return false;
  return host === name || host.endsWith(`.${name}`);
}

function isInNetwork(host: string, network: string): boolean {
  const [start = "", bits = ""] = network.split("/");
  const family = familyOf(start);
  if (isIP(host) === 0 || familyOf(host) !== family) return false;
  try {
    const list = new BlockList();
    list.addSubnet(start, Number(bits), family);
    return list.check(host, family);
  } catch {
    // No network: Bun takes no notice of it either.
    return false;
  }
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 6 ? "ipv6" : "ipv4";
}
