import { type Finding, say } from "./finding.ts";

/** A file that holds what not everybody is to know. */
export type GuardedFile = {
  readonly path: string;
  readonly holds: "secrets" | "events";
  /** Its permissions, as 0o600; null if they could not be seen. */
  readonly mode: number | null;
  /** Whether everybody may enter all the folders above it. */
  readonly inOpenFolders: boolean;
};

/** Whether others on this machine can read or change what they should not. */
export function judgeSecrets(files: readonly GuardedFile[]): readonly Finding[] {
  const { ok, skipped } = say("secrets");
  const findings = files.flatMap(judge);
  const unseen = files.filter(({ mode }) => mode === null).map(({ path }) => path);
  if (unseen.length > 0) findings.push(skipped("unseen", `the modes of ${unseen.join(", ")} cannot be seen from here`));
  const seen = files.length - unseen.length;
  if (findings.every(({ level }) => level === "skipped") && seen > 0) {
    const whose = seen === 1 ? "the file with a secret or events is" : `${seen} files with secrets or events are`;
    findings.unshift(ok(`${whose} for their own users and groups only`));
  }
  return findings;
}

const OTHERS_READ = 0o004;
const OTHERS_WRITE = 0o002;

function judge({ path, holds, mode, inOpenFolders }: GuardedFile): Finding[] {
  const { error } = say("secrets");
  if (mode === null || !inOpenFolders) return [];
  const shown = `mode ${mode.toString(8).padStart(4, "0")}`;
  const found: Finding[] = [];
  if (mode & OTHERS_READ) {
    const what = `${path} has ${holds === "secrets" ? "secrets" : "personal data"} that every user of this machine can read`;
    found.push(error("readable_by_all", `${what} (${shown})`, `run chmod o-r ${path}`));
  }
  if (mode & OTHERS_WRITE) {
    found.push(
      error("writable_by_all", `every user of this machine can change ${path} (${shown})`, `run chmod o-w ${path}`),
    );
  }
  return found;
}
