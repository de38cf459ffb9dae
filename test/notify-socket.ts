import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { start } from "./binary/process.ts";

/** A datagram, as systemd gets it. */
export type Notification = {
  /** Of the process that has sent it, as the kernel says. */
  readonly pid: number;
  readonly lines: readonly string[];
  /** In microseconds, of the monotonic clock. */
  readonly at: number;
};

/** A datagram socket as systemd's, in a process of its own: node cannot open one. Disposing of it closes it. */
export type NotifySocket = AsyncDisposable & {
  /** For NOTIFY_SOCKET. */
  readonly name: string;
  /** All that has arrived. */
  all(): readonly Notification[];
  /** The first `count` that have this line, also if they have come before. Rejects if they do not come. */
  having(line: RegExp, count?: number): Promise<readonly Notification[]>;
};

/** At a path, or with `abstract` at a name that is in no file system. */
export async function openNotifySocket({ abstract = false } = {}): Promise<NotifySocket> {
  const folder = await mkdtemp(join(tmpdir(), "fairlead-notify-"));
  const path = join(folder, "notify");
  const name = abstract ? `@${path}` : path;
  const helper = start("python3", ["-u", "-c", LISTEN, name]);
  await helper.line(/^bound$/);
  return {
    name,
    all: () => helper.out.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line)),
    async having(line, count = 1) {
      // Lines are JSON texts: quotes stand for where they begin and end.
      const lines = await helper.lines(new RegExp(`"${line.source}"`), count);
      return lines.map((text) => JSON.parse(text));
    },
    async [Symbol.asyncDispose]() {
      await helper[Symbol.asyncDispose]();
      await rm(folder, { recursive: true });
    },
  };
}

const LISTEN = `
import json, socket, struct, sys, time
name = sys.argv[1]
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
s.bind("\\0" + name[1:] if name.startswith("@") else name)
print("bound")
while True:
    data, extra, _, _ = s.recvmsg(4096, socket.CMSG_SPACE(12))
    pid = struct.unpack("3i", extra[0][2])[0]
    at = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    print(json.dumps({"pid": pid, "at": at, "lines": data.decode().split("\\n")}))
`;
