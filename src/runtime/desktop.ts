/** The browser of the desktop that a command runs on. */
import { spawn } from "node:child_process";
import { hostname } from "node:os";
import process from "node:process";

/** Where a command runs. */
export type Place = {
  readonly platform: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether a person reads its output. */
  readonly isTerminal: boolean;
  readonly isRoot: boolean;
  /** The name of the machine. */
  readonly host: string;
};

export function placeHere(): Place {
  const { platform, env, stdout } = process;
  return { platform, env, isTerminal: stdout.isTTY === true, isRoot: process.getuid?.() === 0, host: hostname() };
}

/** The program that opens an address in the browser; null where there is no desktop. A browser must not run as root. */
export function openerOf({ platform, env, isTerminal, isRoot }: Omit<Place, "host">): string | null {
  if (!isTerminal || isRoot) return null;
  if (platform === "darwin") return env.SSH_CONNECTION ? null : "open";
  return env.DISPLAY || env.WAYLAND_DISPLAY ? "xdg-open" : null;
}

/** Starts the program and does not wait for its end. Answers why it cannot be started, or null. */
export function startOpener(program: string, address: string): Promise<string | null> {
  return new Promise((resolve) => {
    const child = spawn(program, [address], { detached: true, stdio: "ignore" });
    child.on("error", ({ message }) => resolve(message));
    child.on("spawn", () => {
      child.unref();
      resolve(null);
    });
  });
}
