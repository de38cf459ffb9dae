/** An IP address as people write it: what comes in over an IPv6 socket from IPv4 loses its `::ffff:`. */
export function peerAddress(address: string | undefined): string | null {
  if (address === undefined) return null;
  return /^::ffff:\d+\./i.test(address) ? address.slice("::ffff:".length) : address;
}
