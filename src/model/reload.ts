import type { Problem } from "./config.ts";

/** Reads the config anew, and works by it from then on if it is without errors. Never rejects. */
export type Reload = () => Promise<Reloaded>;

/** What became of a reload. All or nothing: a config that is refused changes nothing. */
export type Reloaded =
  | {
      readonly kind: "reloaded";
      /** What is different now, in words; no secret is among them. Empty if nothing is. */
      readonly changes: readonly string[];
      /** The keys that keep their old value until the daemon is started again. */
      readonly needsRestart: readonly string[];
      /** Warnings only. */
      readonly problems: readonly Problem[];
    }
  | Refused;

export type Refused = {
  readonly kind: "refused";
  readonly reason: string;
  /** All of them, if the file could be read. */
  readonly problems: readonly Problem[];
  /** Whether it may be taken in a while, though no file changes. */
  readonly again?: boolean;
};

/** What a running daemon makes of another config. */
export type Applied = Pick<Extract<Reloaded, { kind: "reloaded" }>, "changes" | "needsRestart">;

/**
 * What tells one state of a file from another: which file the path leads to, and when it was changed. A file that is not
 * there, or cannot be looked at, has a state too.
 */
export type FileState = string;

/** Looks at the file behind a path, without reading it. Never rejects. */
export type Look = (path: string) => Promise<FileState>;
