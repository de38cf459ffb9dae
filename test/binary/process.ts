import { spawn } from "node:child_process";
import process from "node:process";
import { createWaiting } from "./waiting.ts";

export type Exit = { readonly code: number | null; readonly signal: NodeJS.Signals | null };
export type Stream = "out" | "err";

export type StartOptions = {
  readonly folder?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** In a process group of its own: a Ctrl-C in the terminal then does not reach it. */
  readonly detached?: boolean;
  /** The file that standard error goes to, in place of a pipe that is read. */
  readonly stderr?: number;
  readonly onLine?: (line: string, stream: Stream) => void;
};

/** A program that was started by a test, and its output. Disposing of it kills it. */
export type Process = AsyncDisposable & {
  readonly pid: number;
  readonly out: readonly string[];
  readonly err: readonly string[];
  /** When it has ended and all of its output is here. */
  readonly exit: Promise<Exit>;
  /** The first line of either stream that matches, also if it was written before. Rejects if there will be none. */
  line(pattern: RegExp): Promise<string>;
  /** The first `count` lines that match. */
  lines(pattern: RegExp, count: number): Promise<readonly string[]>;
  kill(signal: NodeJS.Signals): void;
};

const alive = new Set<(signal: NodeJS.Signals) => void>();
process.on("exit", () => {
  for (const kill of alive) kill("SIGKILL");
});

/** Starts a program. Throws if it cannot be run. */
export function start(file: string, args: readonly string[], options: StartOptions = {}): Process {
  const { folder, env = process.env, detached = false, stderr = "pipe", onLine } = options;
  const child = spawn(file, args, { env, detached, stdio: ["ignore", "pipe", stderr], ...(folder && { cwd: folder }) });
  const { pid } = child;
  if (pid === undefined) throw new Error(`cannot start ${file}: is it there, and may it be run?`);
  const output = createOutput(onLine);
  const kill = (signal: NodeJS.Signals): void => void child.kill(signal);
  alive.add(kill);
  if (child.stdout) onLines(child.stdout, (line) => output.hear(line, "out"));
  if (child.stderr) onLines(child.stderr, (line) => output.hear(line, "err"));
  const exit = new Promise<Exit>((resolve) => {
    child.on("close", (code, signal) => {
      alive.delete(kill);
      output.end();
      resolve({ code, signal });
    });
  });
  return {
    ...{ pid, exit, kill, out: output.out, err: output.err, lines: output.lines },
    line: async (pattern) => (await output.lines(pattern, 1))[0] ?? "",
    async [Symbol.asyncDispose]() {
      kill("SIGKILL");
      await exit;
    },
  };
}

type Output = Pick<Process, "out" | "err" | "lines"> & {
  hear(line: string, stream: Stream): void;
  /** There will be no more lines. */
  end(): void;
};

function createOutput(onLine: StartOptions["onLine"]): Output {
  const written: Record<Stream, string[]> = { out: [], err: [] };
  const waiting = createWaiting();
  let isOver = false;
  return {
    ...written,
    hear(line, stream) {
      written[stream].push(line);
      onLine?.(line, stream);
      waiting.look();
    },
    end() {
      isOver = true;
      waiting.look();
    },
    async lines(pattern, count) {
      const all = (): readonly string[] => [...written.out, ...written.err];
      const found = (): readonly string[] => all().filter((line) => pattern.test(line));
      const describe = (): string => `${found().length} of ${count} × ${pattern} in:\n${all().join("\n")}`;
      await waiting.until(() => isOver || found().length >= count, describe);
      if (found().length < count) throw new Error(`the program has ended with ${describe()}`);
      return found().slice(0, count);
    },
  };
}

function onLines(stream: NodeJS.ReadableStream, hear: (line: string) => void): void {
  let rest = "";
  stream.setEncoding("utf8");
  stream.on("data", (text: string) => {
    const lines = `${rest}${text}`.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) hear(line);
  });
  stream.on("end", () => {
    if (rest !== "") hear(rest);
  });
}
