import type { Problem } from "./config.ts";

/** Reads the config again, and applies it if it has no errors. Never rejects. */
export type Reload = () => Promise<Reloaded>;

/** The result of a reload. All or nothing: a refused config changes nothing. */
export type Reloaded =
  | {
      readonly kind: "reloaded";
      /** The changes, in words and without secrets. Empty if nothing changed. */
      readonly changes: readonly string[];
      /** The keys that keep their old value until a restart. */
      readonly needsRestart: readonly string[];
      /** Warnings only. */
      readonly problems: readonly Problem[];
    }
  | Refused;

export type Refused = {
  readonly kind: "refused";
  readonly reason: string;
  /** All problems, if the file could be read. */
  readonly problems: readonly Problem[];
  /** Whether to retry later even if no file changes. */
  readonly again?: boolean;
};

/** How a running daemon applied another config. */
export type Applied = Pick<Extract<Reloaded, { kind: "reloaded" }>, "changes" | "needsRestart">;

/**
 * Identifies a state of a file: which file the path leads to, and when it was changed. A missing or unreadable file has a
 * state too.
 */
export type FileState = string;

/** Looks at the file behind a path, without reading it. Never rejects. */
export type Look = (path: string) => Promise<FileState>;
