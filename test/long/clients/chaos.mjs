// Makes calls with one client library to several servers at once, and writes what the library said of each call: a line
// of JSON for each server.
import process from "node:process";

const { library, module, jobs, count, deadlineMs } = JSON.parse(process.argv[2]);
const KEY = "website-key";
const FLUSH_AT = count;

const { default: standard, Analytics = standard } = await import(module);

/** How each library is started, how a call is made, and how it ends. */
const LIBRARIES = {
  fairlead(url, told) {
    const analytics = new Analytics(KEY, {
      endpoint: url,
      flushAt: FLUSH_AT,
      onDelivered: ({ event }) => told.delivered.push(event),
      onError: ({ call }) => told.lost.push(call.event),
    });
    return {
      track: (call) => analytics.track({ ...call, messageId: call.event }),
      async end() {
        const { undelivered } = await analytics.close({ timeout: deadlineMs });
        told.returned.push(...undelivered.map(({ event }) => event));
      },
    };
  },
  segment(url) {
    const analytics = new Analytics({ writeKey: KEY, host: url, flushAt: FLUSH_AT });
    return {
      track: (call, done) => analytics.track(call, done),
      // Callbacks come 0.3 s after that, at the earliest.
      end: () => analytics.closeAndFlush({ timeout: deadlineMs }).then(() => pause(1_000)),
    };
  },
  old(url) {
    const analytics = new Analytics(KEY, {
      host: url,
      dataPlaneUrl: url,
      gzip: false,
      logLevel: "error",
      flushAt: FLUSH_AT,
    });
    return {
      track: (call, done) => analytics.track(call, done),
      end: () => Promise.race([flush(), pause(deadlineMs)]),
    };

    /** What it rejects with, the callbacks have. It may then have left calls in the queue. */
    async function flush() {
      for (let times = 0; times < 3; times += 1) await analytics.flush().catch(() => {});
    }
  },
};

// A promise that a library has forgotten to catch must not end the program.
process.on("unhandledRejection", () => {});

await Promise.all(
  jobs.map(async ({ name, url }) => {
    const told = { delivered: [], lost: [], returned: [] };
    const until = Date.now() + deadlineMs + 1_000;
    const client = LIBRARIES[library](url, told);
    for (let nth = 0; nth < count; nth += 1) {
      const event = String(nth);
      client.track({ userId: "u", event }, (error) => (error ? told.lost : told.delivered).push(event));
    }
    await client.end();
    // Some libraries resolve before all is said.
    while (told.delivered.length + told.lost.length + told.returned.length < count && Date.now() < until)
      await pause(100);
    console.log(JSON.stringify({ name, ...told }));
  }),
);
process.exit(0);

function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
