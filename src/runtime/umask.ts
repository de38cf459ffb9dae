import process from "node:process";

/** What this process makes from now on is for its own user: the outbox holds personal data. */
export function keepFilesPrivate(): void {
  process.umask(0o077);
}
