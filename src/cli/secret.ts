import type { Resolve } from "../model/ports.ts";
import { Secret } from "../model/secret.ts";
import { createResolve } from "../runtime/config-files.ts";

/** The option of commands that check signatures. */
export const SECRET_FILE_OPTION = [
  "--secret-file <file>",
  "the file with the shared secret, to check signatures with (else $FAIRLEAD_SECRET)",
] as const;

/** The shared secret that signatures are made with. Null if there is none; what is wrong as text. */
export function readSharedSecret(file: string | undefined): Secret | null | string {
  return readSecret({ option: "--secret-file", file, variable: "FAIRLEAD_SECRET" }, createResolve());
}

export type SecretPlace = {
  /** The option that names a file. */
  readonly option: string;
  /** The file, if the option is there. */
  readonly file: string | undefined;
  /** The environment variable that counts if it is not. */
  readonly variable: string;
};

/**
 * Reads a secret from a file, without its last newline, or from the environment. Null if neither is given; what is wrong
 * as text. There is never an option with the secret itself: everybody on the machine could read it in the list of
 * processes.
 */
export function readSecret(place: SecretPlace, { env, file: read }: Resolve): Secret | null | string {
  const { option, file, variable } = place;
  if (file === undefined) {
    const value = env(variable);
    // Empty is as good as not set, as in a shell.
    return value ? new Secret(value) : null;
  }
  const found = read(file);
  if (!found.ok) return `cannot read ${option} ${file}: ${found.why}`;
  const secret = found.text.replace(/\r?\n$/, "");
  return secret === "" ? `cannot use ${option} ${file}: it is empty` : new Secret(secret);
}
