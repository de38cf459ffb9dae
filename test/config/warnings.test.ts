// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references, as a config file has them.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { LoadInput } from "../../src/config/load.ts";
import type { SpaceFor } from "../../src/model/disk.ts";
import { GB, KB, MB } from "../../src/model/units.ts";
import { load, told } from "./world.ts";

const HEAD = "sources:\n  website:\n    writeKey: abc\n";
const DESTINATIONS = "destinations:\n  crm:\n    webhooks: [{ url: https://crm.example.com }]\n";

const WORLD = { env: { KEY: "abc", PRICE: "$PRICE" } };

function toldOf(text: string, more?: Partial<LoadInput>): readonly string[] {
  return told(load(text, WORLD, more));
}

describe("a value that looks like a variable of another program", () => {
  const withUrl = (url: string): string => `${HEAD}destinations:\n  crm:\n    webhooks: [{ url: '${url}' }]\n`;

  for (const url of ["https://$HOST/hooks", "https://crm.example.com/$TENANT_ID", "https://a.example.com?key=$KEY&b"]) {
    it(`is doubted: ${url}`, () => {
      const [name] = /(?<=\$)\w+/.exec(url) ?? [];
      assert.deepEqual(
        toldOf(withUrl(url)).filter((line) => line.startsWith("warning")),
        [
          `warning destinations.crm.webhooks[0].url has $${name}, which is not replaced: write \${${name}} for the environment variable`,
        ],
      );
    });
  }

  it("is doubted without a word of it, if it is a secret", () => {
    for (const [key, form] of [
      ["$WEBSITE_KEY", "$NAME"],
      ["Bearer $token", "$NAME"],
      ["'{{ website_key }}'", "{{ NAME }}"],
      ["'{{ .Env.KEY }}'", "{{ NAME }}"],
    ]) {
      assert.deepEqual(toldOf(`sources:\n  website:\n    writeKey: ${key}\n${DESTINATIONS}`), [
        `warning sources.website.writeKey looks like ${form}, which is not replaced: write \${NAME} for the environment variable NAME`,
      ]);
    }
  });

  it("is no map, if nobody has put {{ NAME }} in quotes", () => {
    assert.deepEqual(toldOf(`sources:\n  website:\n    writeKey: {{ website_key }}\n${DESTINATIONS}`), [
      "error sources.website.writeKey has {{ }}, which is not replaced: write ${NAME} for the environment variable NAME",
    ]);
  });

  it("is taken for what it is where it does not look so", () => {
    for (const key of [
      "pa$$word",
      "a$b",
      "$5.00",
      "'$'",
      "'${KEY}'",
      "'$${KEY}'",
      "'${PRICE}'",
      "'{{'",
      "x$Y",
      "US$",
    ]) {
      assert.deepEqual(toldOf(`sources:\n  website:\n    writeKey: ${key}\n${DESTINATIONS}`), [], key);
    }
  });
});

describe("a destination with a name that calls use for others", () => {
  for (const name of ["All", "all", "ALL", "Webhooks", "webhooks"]) {
    it(`is doubted: ${name}`, () => {
      const [message = "", ...others] = toldOf(`${HEAD}${DESTINATIONS.replace("crm", name)}`);
      assert.equal(others.length, 0);
      assert.match(
        message,
        new RegExp(`^warning destinations\\.${name} has a name with another meaning in the integrations of calls`),
      );
    });
  }

  it("is no other one", () => {
    assert.deepEqual(toldOf(`${HEAD}${DESTINATIONS.replace("crm", "all-of-it")}`), []);
  });
});

describe("a destination that goes beyond the specification", () => {
  const withKeys = (keys: string) => toldOf(`${HEAD}${DESTINATIONS}    ${keys}\n`);

  it("is pointed out, each key at its place", () => {
    assert.deepEqual(withKeys("timeout: 5001ms\n    cutoff: 7d"), [
      'warning destinations.crm.timeout is more than the 5s of the specification: a request that hangs keeps its slot for that long (got "5001ms")',
      'warning destinations.crm.cutoff is more than the 4h of the specification: events may come that late, and the outbox holds them until then (got "7d")',
    ]);
  });

  it("is none that keeps to it", () => {
    assert.deepEqual(withKeys("timeout: 5s\n    cutoff: 4h\n    concurrency: 200"), []);
  });

  it("cannot go further than this program does", () => {
    assert.deepEqual(withKeys("timeout: 31s\n    cutoff: 169h\n    concurrency: 201"), [
      'error destinations.crm.timeout must be at most 30s (got "31s")',
      'error destinations.crm.cutoff must be at most 7d (got "169h")',
      "error destinations.crm.concurrency must be a whole number from 1 to 200 (got 201)",
    ]);
  });
});

describe("an order", () => {
  const withKeys = (keys: string) => toldOf(`${HEAD}${DESTINATIONS}    ${keys}\n`);

  it("is of users, or there is none", () => {
    for (const good of ["user", "none"]) assert.deepEqual(withKeys(`order: ${good}`), [], good);
    assert.deepEqual(withKeys("order: users"), [
      'error destinations.crm.order must be none or user: did you mean user? (got "users")',
    ]);
  });

  it("is pointed out where several daemons may share the outbox", () => {
    const shared = `outbox: { url: "postgres://fairlead@db.example.com/fairlead?sslmode=verify-full" }\n`;
    const told = (order: string) => toldOf(`${shared}${HEAD}${DESTINATIONS}    order: ${order}\n`);
    assert.deepEqual(told("user"), [
      "warning destinations.crm.order holds among the calls that one daemon accepts, and others may share outbox.url: have the balancer send all calls of a user to the same daemon",
    ]);
    assert.deepEqual(told("none"), []);
  });
});

describe("a rate", () => {
  const withKeys = (keys: string) => toldOf(`${HEAD}${DESTINATIONS}    ${keys}\n`);

  it("has a number and a time", () => {
    for (const good of ["50/s", "'30/m'", "1/h", "10000/s", "36000000/h"])
      assert.deepEqual(withKeys(`rate: ${good}`), [], good);
    const cases: readonly (readonly [string, string])[] = [
      ["50", "must say in which time: write 50/s for a second (got 50)"],
      ["0.5/s", 'must be a rate, as in 50/s, 30/m or 100/h (got "0.5/s")'],
      ["0/s", 'must be more than 0: to send nothing, disable or pause it (got "0/s")'],
      ["10001/s", 'must be at most 10000/s (got "10001/s")'],
      ["36000001/h", 'must be at most 10000/s (got "36000001/h")'],
      ["[50/s]", "must be a rate, as in 50/s, 30/m or 100/h (got a list of 1)"],
    ];
    for (const [bad, message] of cases)
      assert.deepEqual(withKeys(`rate: ${bad}`), [`error destinations.crm.rate ${message}`], bad);
  });

  it("has a burst only beside it, and one for a request to each webhook", () => {
    assert.deepEqual(withKeys("rate: 1/m\n    burst: 1"), []);
    assert.deepEqual(withKeys("burst: 10"), [
      "error destinations.crm.burst needs a rate beside it: add one, or remove this key",
    ]);
    const two = DESTINATIONS.replace("}]", "}, { url: https://erp.example.com }]");
    assert.deepEqual(toldOf(`${HEAD}${two}    rate: 1/m\n    burst: 1\n`), [
      "error destinations.crm.burst must be at least 2: each event goes to all 2 webhooks at once (got 1)",
    ]);
  });
});

describe("the limits of a source", () => {
  const withKeys = (keys: string, more = "") => toldOf(`${HEAD}    ${keys}\n${more}${DESTINATIONS}`);
  const OTHER = "  app:\n    writeKey: def\n";

  it("are a rate with a burst, and a share or a size", () => {
    for (const good of [
      "rate: 1000000/s",
      "rate: 1/h\n    burst: 1",
      "maxWaiting: 0.5%",
      "maxWaiting: 100%",
      "maxWaiting: 1MB",
    ])
      assert.deepEqual(withKeys(good), [], good);
    const cases: readonly (readonly [string, string])[] = [
      ["rate: 0/s", 'rate must be more than 0: to accept nothing, disable it (got "0/s")'],
      ["burst: 10", "burst needs a rate beside it: add one, or remove this key"],
      ["maxWaiting: 0%", 'maxWaiting must be more than 0% and at most 100% (got "0%")'],
      ["maxWaiting: 101%", 'maxWaiting must be more than 0% and at most 100% (got "101%")'],
      ["maxWaiting: 512KB", 'maxWaiting must be at least 1MB, or a share, as in 20% (got "512KB")'],
      ["maxWaiting: 20", "maxWaiting must be at least 1MB, or a share, as in 20% (got 20)"],
      ["maxWaiting: a fifth", 'maxWaiting must be a share or a size, as in 20% or 200MB (got "a fifth")'],
      ["maxWaiting: [20%]", "maxWaiting must be a share or a size, as in 20% or 200MB (got a list of 1)"],
    ];
    for (const [bad, message] of cases) assert.deepEqual(withKeys(bad), [`error sources.website.${message}`], bad);
  });

  it("are doubted if they leave too little of the outbox for the others", () => {
    const message = "leaves too little of outbox.maxSize (1GB) for the other sources: choose less than 90% of it";
    assert.deepEqual(withKeys("maxWaiting: 90%", OTHER), [`warning sources.website.maxWaiting ${message} (got "90%")`]);
    assert.deepEqual(withKeys("maxWaiting: 2GB", OTHER), [`warning sources.website.maxWaiting ${message} (got "2GB")`]);
    assert.deepEqual(withKeys("maxWaiting: 89%", OTHER), []);
    assert.deepEqual(withKeys("maxWaiting: 100%"), []);
  });
});

describe("secrets in a config file that others can read", () => {
  it("are doubted once, at the first of them", () => {
    const text = `${HEAD}${DESTINATIONS}    sharedSecret: def\n`;
    assert.deepEqual(toldOf(text, { worldReadable: true }), [
      "warning sources.website.writeKey is a secret in a file that every user of this machine can read: run chmod o-r /etc/fairlead/config.yaml, or refer to the secret with ${file:/path}",
    ]);
    assert.deepEqual(toldOf(text, { worldReadable: false }), []);
  });

  it("are none that stand elsewhere", () => {
    assert.deepEqual(toldOf(`${HEAD.replace("abc", '"${KEY}"')}${DESTINATIONS}`, { worldReadable: true }), []);
  });
});

describe("an outbox.path that is a folder", () => {
  const isFolder = (path: string): boolean => path === "/var/lib/fairlead";

  it("is refused, with what to write", () => {
    for (const path of ["/var/lib/fairlead", "/nowhere/"]) {
      const { config, problems } = load(`${HEAD}${DESTINATIONS}outbox: { path: ${path} }\n`, WORLD, { isFolder });
      assert.equal(config, null);
      assert.deepEqual(
        problems.map(({ path, message }) => `${path}: ${message}`),
        [`outbox.path: is a folder: name a file in it, as ${path.replace(/\/$/, "")}/fairlead.db (got "${path}")`],
      );
    }
  });

  it("is none if it is a file, or not there yet", () => {
    assert.deepEqual(toldOf(`${HEAD}${DESTINATIONS}outbox: { path: /var/lib/fairlead/f.db }\n`, { isFolder }), []);
  });
});

describe("sizes and levels as other programs write them", () => {
  it("are understood: KiB, MiB and GiB are KB, MB and GB", () => {
    for (const [written, bytes] of [
      ["1GiB", GB],
      ["64 MiB", 64 * MB],
      ["2048kib", 2_048 * KB],
      ["1GB", GB],
    ] as const) {
      const { config } = load(`${HEAD}${DESTINATIONS}outbox: { maxSize: ${written} }\n`);
      assert.equal(config?.outbox.maxSize, bytes, written);
    }
  });

  it("are understood: warn is warning", () => {
    assert.equal(load(`${HEAD}${DESTINATIONS}log: { level: warn }\n`).config?.log.level, "warning");
    assert.match(toldOf(`${HEAD}log: { level: warnin }\n`).join(), /did you mean warning\?/);
  });
});

const REST = `sources: { website: { writeKey: abc } }
destinations: { crm: { webhooks: [{ url: https://crm.example.com }] } }
`;
const OUTBOX = "outbox:\n  path: /var/lib/fairlead/fairlead.db\n  maxSize: 1GB\n";

function warningsOn(space: ReturnType<SpaceFor>, outbox = OUTBOX) {
  const asked: string[] = [];
  const spaceFor: SpaceFor = (path) => {
    asked.push(path);
    return space;
  };
  const text = outbox + REST;
  const { config, problems } = load(text, {}, { spaceFor });
  assert.ok(config);
  assert.ok(problems.every(({ severity, path }) => severity === "warning" && path === "outbox.maxSize"));
  return { asked, problems, messages: problems.map(({ message }) => message) };
}

describe("a disk that is smaller than the outbox may become", () => {
  it("is warned of at maxSize, with the numbers", () => {
    const { asked, problems, messages } = warningsOn({ free: 900 * MB, total: GB, used: 0 });
    assert.deepEqual(messages, [
      "is more than the disk has room for: 1GB and outbox.freeDisk (64MB) do not fit on the 1GB of the disk of " +
        "/var/lib/fairlead/fairlead.db; calls are refused before",
    ]);
    assert.deepEqual([problems[0]?.line, problems[0]?.column], [3, 12]);
    assert.deepEqual(asked, ["/var/lib/fairlead/fairlead.db"]);
  });

  it("is one of which others have taken too much, too; what the outbox has is its own", () => {
    assert.deepEqual(warningsOn({ free: 300 * MB, total: 20 * GB, used: 0 }).messages, [
      "is more than the disk has room for: 1GB and outbox.freeDisk (64MB) do not fit into the 300MB that are free on " +
        "the disk of /var/lib/fairlead/fairlead.db; calls are refused before",
    ]);
    const [message] = warningsOn({ free: 300 * MB, total: 20 * GB, used: 700 * MB }).messages;
    assert.match(message ?? "", /the 300MB that are free on .*, with the 700MB that the outbox has; calls/);
    assert.deepEqual(warningsOn({ free: 388 * MB, total: 20 * GB, used: 700 * MB }).messages, []);
  });

  it("is not one without a bound that fits, nor one that nobody knows", () => {
    assert.deepEqual(warningsOn({ free: 1.1 * GB, total: 20 * GB, used: 0 }).messages, []);
    assert.deepEqual(warningsOn(null).messages, []);
    const unbounded = `${OUTBOX}  freeDisk: 0\n`;
    assert.deepEqual(warningsOn({ free: GB, total: GB, used: 0 }, unbounded).messages, []);
    const [message] = warningsOn({ free: 0, total: MB, used: 0 }, unbounded).messages;
    assert.match(message ?? "", /: 1GB do not fit on the 1MB of/);
  });

  it("is found with the default as well, at the section or at the beginning", () => {
    const small = { free: 0, total: MB, used: 0 };
    assert.deepEqual(place(warningsOn(small, "log: {}\noutbox: {}\n")), [2, 1]);
    assert.deepEqual(place(warningsOn(small, "")), [1, 1]);
  });
});

function place({ problems }: ReturnType<typeof warningsOn>): readonly unknown[] {
  return [problems[0]?.line, problems[0]?.column];
}

describe("a port that several daemons share", () => {
  const shared = (rest: string): string => `ingest:\n  reusePort: true\n${rest}${HEAD}${DESTINATIONS}`;

  it("is warned of where all of them would have the same address for operators", () => {
    assert.deepEqual(toldOf(shared("")), [
      "warning admin.listen is the same for all daemons that share ingest.listen, and only the first one gets it: " +
        "give each its own, as in unix:/run/fairlead-${INSTANCE}/admin.sock",
    ]);
    assert.deepEqual(toldOf(shared("admin:\n  listen: 127.0.0.1:9001\n")), []);
  });

  it("is none on a Unix socket, and none with a certificate of its own", () => {
    assert.match(
      toldOf(shared("  listen: unix:/run/ingest.sock\n"))[0] ?? "",
      /^error ingest.reusePort is for a TCP port/,
    );
    const tls = "  tls: { cert: cert.pem, key: key.pem }\n";
    const errors = toldOf(shared(tls)).filter((line) => line.startsWith("error ingest.reusePort"));
    assert.deepEqual(errors, [
      "error ingest.reusePort does not go with ingest.tls: let a proxy in front speak TLS, or remove one of them",
    ]);
  });
});

describe("a webhook of notify", () => {
  it("is doubted if it is one of a destination: it does not hear of that one", () => {
    const notify = "notify:\n  ops:\n    url: https://crm.example.com\n  chat:\n    url: https://chat.example.com\n";
    assert.deepEqual(toldOf(`${HEAD}${DESTINATIONS}${notify}`), [
      'warning notify.ops.url is a webhook of destinations.crm too: it is not told when that fails, nor of its deliveries given up (got "https://crm.example.com")',
    ]);
  });
});
