import type { Command } from "commander";
import { MB } from "../model/units.ts";
import { print } from "../runtime/output.ts";
import { sign } from "../webhook/signature.ts";
import { type Done, examples } from "./command.ts";
import { complain } from "./complain.ts";
import { EXIT, type ExitCode } from "./exit.ts";
import { readSharedSecret, SECRET_FILE_OPTION } from "./secret.ts";
import { readTyped } from "./typed-input.ts";
import { type Claim, type Comparison, compare, type OtherSecret } from "./verify/compare.ts";

/** `fairlead verify`: checks the X-Signature of a webhook's body, or makes one, for people who write receivers. */
export function declareVerify(program: Command, done: Done): void {
  program
    .command("verify")
    .description("check the X-Signature of a webhook's body, or print the one it should have")
    .option("--body <file>", "the body, byte for byte (default: standard input)")
    .option("--signature <hex>", "the value of X-Signature; without it, the right one is printed")
    .option(...SECRET_FILES_OPTION)
    .option("--json", "print the result as JSON")
    .addHelpText("after", HELP)
    .action((options: VerifyOptions) => done(check(options)));
}

const SECRET_FILES_OPTION = [
  SECRET_FILE_OPTION[0],
  `${SECRET_FILE_OPTION[1]}; again for each secret of a list, the one that signs first`,
  (file: string, before: readonly string[] = []): readonly string[] => [...before, file],
] as const;

const HELP = `${examples(
  "export FAIRLEAD_SECRET=change-me",
  "fairlead verify --body body.json",
  `printf '%s' '{"type":"track"}' | fairlead verify --signature 8bddb838687cef94a46114b4e5355402ab17b51f`,
  `curl --data-binary @body.json -H "X-Signature: $(fairlead verify --body body.json)" http://127.0.0.1:9000/hooks`,
)}

Exit codes: 0 it is right, 1 it is wrong, 2 it cannot be checked.`;

type VerifyOptions = {
  readonly body?: string;
  readonly signature?: string;
  readonly secretFile?: readonly string[];
  readonly json?: boolean;
};

/** No receiver gets as much from Fairlead. */
const MOST_BYTES = 16 * MB;

async function check({ body: file, signature, secretFile, json }: VerifyOptions): Promise<ExitCode> {
  const secrets = readSecrets(secretFile);
  if (typeof secrets === "string") return cannot(secrets);
  const { secret, others } = secrets;
  const body = await readTyped(file ?? null, { what: "the body", most: MOST_BYTES });
  if (!body.ok) return cannot(`cannot read ${file === undefined ? "standard input" : `--body ${file}`}: ${body.why}`);
  if (signature === undefined) {
    const made = sign(body.bytes, secret);
    print(json ? JSON.stringify({ signature: made }) : made);
    return EXIT.done;
  }
  const result = compare({ body: body.bytes, signature, secret, others });
  print(json ? toJson(result) : toWords(result));
  return result.kind === "ok" ? EXIT.done : EXIT.failed;
}

/** The one that signs, and the rest of its list. Answers what is wrong as text. */
function readSecrets(
  files: readonly (string | undefined)[] = [undefined],
): Required<Pick<Claim, "secret" | "others">> | string {
  const found: OtherSecret[] = [];
  for (const file of files) {
    const secret = readSharedSecret(file);
    if (secret === null) return "there is no secret: set $FAIRLEAD_SECRET, or name its file with --secret-file";
    if (typeof secret === "string") return secret;
    found.push({ from: file ?? "$FAIRLEAD_SECRET", secret: secret.reveal() });
  }
  const [first, ...others] = found;
  return { secret: first?.secret ?? "", others };
}

function cannot(message: string): ExitCode {
  return complain({ code: EXIT.usage, message });
}

function toJson(result: Comparison): string {
  if (result.kind === "ok") return JSON.stringify({ valid: true });
  const { expected, hint } = result;
  return JSON.stringify({ valid: false, expected, ...(hint !== null && { hint }) });
}

function toWords(result: Comparison): string {
  if (result.kind === "ok") return "ok";
  const { expected, hint } = result;
  return `wrong: the signature of this body with this secret is ${expected}${hint === null ? "" : `\nhint: ${hint}`}`;
}
