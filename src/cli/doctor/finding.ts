/** What fairlead doctor looks at, in the order in which it tells. */
export const CHECKS = ["config", "secrets", "store", "disk", "clock", "files", "daemon", "webhooks"] as const;
export type Check = (typeof CHECKS)[number];

/** `skipped`: it could not be looked at from here, and `what` says why. */
export const LEVELS = ["ok", "skipped", "warning", "error"] as const;
export type Level = (typeof LEVELS)[number];

/** What one look has found. */
export type Finding = {
  readonly check: Check;
  readonly level: Level;
  /** Stays the same, for programs; `ok` if all is well. */
  readonly code: string;
  /** Holds no secret. */
  readonly what: string;
  /** What to do about it. */
  readonly remedy?: string;
};

export type Say = {
  ok(what: string): Finding;
  skipped(code: string, what: string, remedy?: string): Finding;
  warning(code: string, what: string, remedy: string): Finding;
  error(code: string, what: string, remedy: string): Finding;
};

/** Makes the findings of one check. */
export function say(check: Check): Say {
  const make = (level: Level) => (code: string, what: string, remedy?: string) => ({
    ...{ check, level, code, what },
    ...(remedy !== undefined && { remedy }),
  });
  return {
    ok: (what) => make("ok")("ok", what),
    skipped: make("skipped"),
    warning: make("warning"),
    error: make("error"),
  };
}

/** The worst there is: it decides the exit code. */
export function worstOf(findings: readonly Finding[]): Level {
  return LEVELS.findLast((level) => findings.some((finding) => finding.level === level)) ?? "ok";
}
