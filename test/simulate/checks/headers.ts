import { signatureOf, standardSignatureOf } from "../world/calls.ts";
import { headerOf, ownerOf, type Shape, secretOf } from "../world/shape.ts";
import type { Judge, Judged } from "./requests.ts";

/** Headers and signatures are those of the config; while that is changed, of either. */
export const checkHeaders: Judge = ({ request, world }) => {
  const found = [world.shape, ...(world.nextShape ? [world.nextShape] : [])].map((shape) =>
    check(request, shape, world),
  );
  return found.includes(null) ? null : (found[0] ?? null);
};

function check({ url, headers, body }: Judged["request"], shape: Shape, { life }: Judged["world"]): string | null {
  const name = ownerOf(url);
  const destination = shape.destinations[name];
  const seconds = String(Math.floor(life.clock.wall() / 1_000));
  const id = headers["webhook-id"] ?? "";
  const secrets = destination.secrets.map((version) => secretOf(name, version));
  const [first] = secrets;
  const wanted: Record<string, string | undefined> = {
    "User-Agent": "Fairlead/1.0",
    "Content-Type": "application/json",
    Authorization: headerOf(name, destination),
    "X-Signature": first && signatureOf(body, first),
    "webhook-id": id,
    "webhook-timestamp": seconds,
    "webhook-signature": secrets.map((secret) => standardSignatureOf(`${id}.${seconds}.${body}`, secret)).join(" "),
  };
  for (const name of new Set([...Object.keys(wanted), ...Object.keys(headers)])) {
    if (headers[name] !== wanted[name]) return `${name} is ${headers[name]}, and should be ${wanted[name]}`;
  }
  return null;
}
