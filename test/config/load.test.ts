// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references, as a config file has them.
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { describe, it } from "node:test";
import { formatProblem } from "../../src/config/problems.ts";
import { bearerToken } from "../../src/http/request.ts";
import { Secret } from "../../src/model/secret.ts";
import { DAY, GB, HOUR, KB, MB, MINUTE, SECOND } from "../../src/model/units.ts";
import { CERTS, KEY } from "./certificates.ts";
import { load } from "./world.ts";

const MINIMAL = `
sources:
  website:
    writeKey: abc
destinations:
  crm:
    webhooks:
      - url: https://crm.example.com/hooks
`;

const COMPLETE = `
ingest:
  listen: "[::1]:0"
  tls: { cert: tls/cert.pem, key: "\${KEY_FILE}" }
  trustedProxies: [127.0.0.1, fd00::/8]
  corsOrigins: [https://*.Example.com, "null", capacitor://localhost]
  maxCall: 1MiB
  maxBatch: 4MB
admin: { listen: "unix:/run/fairlead/admin.sock", token: "\${TOKEN}", readToken: eyes, dashboard: false }
outbox: { path: /var/lib/fairlead/outbox.db, maxSize: 1.5GB, freeDisk: 512MB, keepDelivered: 0s, keepFailed: 1h30m }
delivery: { timeout: 250ms, cutoff: 10m, concurrency: 200 }
log: { level: debug, format: json }
sources:
  website: { writeKey: abc }
  my.app-2_x: { writeKey: def, enabled: false, type: mobile, ip: truncate, rate: 6000/m, burst: 500, maxWaiting: 20% }
destinations:
  crm:
    enabled: false
    sources: [website]
    types: [identify, track]
    historical: skip
    webhooks:
      - url: http://localhost:3000/hooks?a=b
        headers: { Authorization: "Bearer \${file:/token}", X-A: "" }
      - { url: "https://crm.example.com/hooks", ca: tls/ca.pem, cert: /client.pem, key: "\${KEY_FILE}" }
    sharedSecret: [new, old]
    standardWebhooks: true
    timeout: 30s
    cutoff: 7d
    concurrency: 8
    rate: 30/m
    burst: 5
    order: user
  erp:
    webhooks: [{ url: "https://\${HOST}/hooks" }]
    sharedSecret: \${credential:erp}
notify:
  ops:
    enabled: false
    url: https://ops.example.com/fairlead
    on: [clock_wrong]
    failingFor: 1m
    repeat: 1d
    perHour: 3
    headers: { Authorization: Bearer }
    ca: tls/ca.pem
    cert: /client.pem
    key: "\${KEY_FILE}"
    sharedSecret: s
    standardWebhooks: true
`;

const GOOD = new X509Certificate(CERTS.good);
const GOOD_FOR = { validFrom: GOOD.validFromDate.getTime(), validTo: GOOD.validToDate.getTime() };
const OPEN = { rate: null, maxWaiting: null };
const LIMITED = {
  rate: { requests: 6_000, per: MINUTE, burst: 500 },
  maxWaiting: { bytes: Math.floor(0.3 * GB), share: 0.2 },
};

describe("loadConfig", () => {
  it("fills in every default", () => {
    assert.deepEqual(revealed(load(MINIMAL).config), {
      ingest: {
        listen: { kind: "tcp", host: "127.0.0.1", port: 8080 },
        reusePort: false,
        tls: null,
        trustedProxies: [],
        corsOrigins: ["*"],
        maxCall: 32 * KB,
        maxBatch: 500 * KB,
      },
      admin: {
        listen: { kind: "tcp", host: "127.0.0.1", port: 8081 },
        token: null,
        readToken: null,
        dashboard: true,
      },
      outbox: {
        path: "/etc/fairlead/fairlead.db",
        postgres: null,
        maxSize: GB,
        freeDisk: 64 * MB,
        keepDelivered: DAY,
        keepFailed: 30 * DAY,
      },
      delivery: { timeout: 5 * SECOND, cutoff: 4 * HOUR, concurrency: 64 },
      log: { level: "info", format: "auto" },
      sources: [{ name: "website", writeKey: "secret abc", enabled: true, type: "auto", ip: "keep", ...OPEN }],
      destinations: [
        {
          name: "crm",
          enabled: true,
          sources: null,
          types: null,
          historical: "accept",
          filter: null,
          template: null,
          noticeTemplate: null,
          webhooks: [{ url: "https://crm.example.com/hooks", headers: [], tls: null }],
          sharedSecrets: [],
          standardWebhooks: false,
          ...{ timeout: 5 * SECOND, cutoff: 4 * HOUR, concurrency: 64 },
          rate: null,
          order: "none",
        },
      ],
      notify: [],
      certificates: [],
    });
  });

  it("takes every key from the file", () => {
    const { config } = load(COMPLETE, {
      env: { TOKEN: "t", HOST: "erp.example.com", KEY_FILE: "/key.pem" },
      files: {
        "/token": "f\n",
        "/etc/fairlead/tls/cert.pem": CERTS.good,
        "/key.pem": KEY,
        "/etc/fairlead/tls/ca.pem": CERTS.ca,
        "/client.pem": CERTS.good + CERTS.ca,
      },
      credentials: { erp: "c\n" },
    });
    assert.deepEqual(revealed(config), {
      ingest: {
        listen: { kind: "tcp", host: "::1", port: 0 },
        tls: {
          certFile: "/etc/fairlead/tls/cert.pem",
          keyFile: "/key.pem",
          cert: CERTS.good,
          key: `secret ${KEY}`,
        },
        reusePort: false,
        trustedProxies: ["127.0.0.1/32", "fd00::/8"],
        corsOrigins: ["https://*.example.com", "null", "capacitor://localhost"],
        maxCall: MB,
        maxBatch: 4 * MB,
      },
      admin: {
        listen: { kind: "unix", path: "/run/fairlead/admin.sock" },
        token: "secret t",
        readToken: "secret eyes",
        dashboard: false,
      },
      outbox: {
        path: "/var/lib/fairlead/outbox.db",
        postgres: null,
        maxSize: 1.5 * GB,
        freeDisk: 512 * MB,
        keepDelivered: 0,
        keepFailed: 90 * MINUTE,
      },
      delivery: { timeout: 250, cutoff: 10 * MINUTE, concurrency: 200 },
      log: { level: "debug", format: "json" },
      sources: [
        { name: "website", writeKey: "secret abc", enabled: true, type: "auto", ip: "keep", ...OPEN },
        { name: "my.app-2_x", writeKey: "secret def", enabled: false, type: "mobile", ip: "truncate", ...LIMITED },
      ],
      destinations: [
        {
          name: "crm",
          enabled: false,
          sources: ["website"],
          types: ["identify", "track"],
          historical: "skip",
          filter: null,
          template: null,
          noticeTemplate: null,
          webhooks: [
            {
              url: "http://localhost:3000/hooks?a=b",
              headers: [
                ["Authorization", "secret Bearer f"],
                ["X-A", "secret "],
              ],
              tls: null,
            },
            {
              url: "https://crm.example.com/hooks",
              headers: [],
              tls: { ca: CERTS.ca, cert: CERTS.good + CERTS.ca, key: `secret ${KEY}` },
            },
          ],
          sharedSecrets: ["secret new", "secret old"],
          standardWebhooks: true,
          ...{ timeout: 30 * SECOND, cutoff: 7 * DAY, concurrency: 8 },
          rate: { requests: 30, per: MINUTE, burst: 5 },
          order: "user",
        },
        {
          name: "erp",
          enabled: true,
          sources: null,
          types: null,
          historical: "accept",
          filter: null,
          template: null,
          noticeTemplate: null,
          webhooks: [{ url: "https://erp.example.com/hooks", headers: [], tls: null }],
          sharedSecrets: ["secret c"],
          standardWebhooks: false,
          ...{ timeout: 250, cutoff: 10 * MINUTE, concurrency: 200 },
          rate: null,
          order: "none",
        },
      ],
      notify: [
        {
          name: "ops",
          on: ["clock_wrong"],
          failingFor: MINUTE,
          repeat: DAY,
          perHour: 3,
          destination: {
            name: "notify:ops",
            enabled: false,
            sources: null,
            types: null,
            historical: "accept",
            filter: null,
            template: null,
            noticeTemplate: null,
            order: "none",
            webhooks: [
              {
                url: "https://ops.example.com/fairlead",
                headers: [["Authorization", "secret Bearer"]],
                tls: { ca: CERTS.ca, cert: CERTS.good + CERTS.ca, key: `secret ${KEY}` },
              },
            ],
            sharedSecrets: ["secret s"],
            standardWebhooks: true,
            ...{ timeout: 250, cutoff: 10 * MINUTE, concurrency: 200 },
            rate: null,
          },
        },
      ],
      certificates: [
        { key: "ingest.tls.cert", file: "/etc/fairlead/tls/cert.pem", ...GOOD_FOR },
        { key: "destinations.crm.webhooks[1].cert", file: "/client.pem", ...GOOD_FOR },
        { key: "notify.ops.cert", file: "/client.pem", ...GOOD_FOR },
      ],
    });
  });

  it("takes a relative outbox and relative secret files from the config file's folder", () => {
    const text = `${MINIMAL}    sharedSecret: \${file:secrets/crm}\noutbox: { path: data/outbox.db }\n`;
    const { config, files } = load(text, { files: { "/etc/fairlead/secrets/crm": "s" } });
    assert.equal(config?.outbox.path, "/etc/fairlead/data/outbox.db");
    assert.deepEqual(files, ["/etc/fairlead/secrets/crm"]);
  });

  it("goes on without credentials where only systemd's unit has them, and warns of each", () => {
    const secrets = "    sharedSecret: [${credential:crm}, ${credential:old}]\nadmin: { token: ${credential:admin} }\n";
    const sources = "  app: { writeKey: ${credential:app} }\n  web: { writeKey: ${credential:web} }\n";
    const text = `${MINIMAL}${secrets}`
      .replace("destinations:", `${sources}destinations:`)
      .replace(/\$\{[^}]*\}/g, '"$&"');
    const { config, problems } = load(text, {}, { credentials: "unit only" });
    assert.equal(config, null);
    assert.deepEqual(
      problems.map(({ severity, path, message }) => `${severity} ${path} ${message.split(",")[0]}`),
      [
        "warning sources.app.writeKey comes from the credential app",
        "warning sources.web.writeKey comes from the credential web",
        "warning destinations.crm.sharedSecret[0] comes from the credential crm",
        "warning destinations.crm.sharedSecret[1] comes from the credential old",
        "warning admin.token comes from the credential admin",
      ],
    );
  });

  it("finds all else that is wrong, and doubtful, beside a credential that is not known", () => {
    const admin = 'admin: { token: "${credential:admin}" }\n';
    const wrong = load(`${MINIMAL}${admin}log: { level: loud }\n`, {}, { credentials: "unit only" }).problems;
    assert.deepEqual(
      wrong.map(({ severity, path }) => `${severity} ${path}`),
      ["warning admin.token", "error log.level"],
    );
    const idle = load(`sources: { app: { writeKey: a } }\n${admin}`, {}, { credentials: "unit only" }).problems;
    assert.match(idle.map(({ message }) => message).join(), /has no entries: events are kept but go nowhere/);
  });

  it("needs the credentials where they have to be", () => {
    const text = `${MINIMAL}    sharedSecret: \${credential:crm}\n`;
    assert.match(errorsOf(text).join(), /sharedSecret: cannot be read from the credential crm: no such file/);
  });

  it("names the secret files it could not read too, so that they can be watched", () => {
    const { config, files } = load(`${MINIMAL}    sharedSecret: \${file:/a} \${file:/b}\n`, { files: { "/a": "a" } });
    assert.equal(config, null);
    assert.deepEqual(files, ["/a", "/b"]);
  });

  it("takes an empty list of proxies and of origins: nobody is trusted, and no page may send", () => {
    const { config, problems } = load(`${MINIMAL}ingest: { trustedProxies: [], corsOrigins: [] }\n`);
    assert.deepEqual(problems, []);
    assert.deepEqual([config?.ingest.trustedProxies, config?.ingest.corsOrigins], [[], []]);
  });

  it("reads a number and a boolean out of a reference where one is expected", () => {
    const text = `${MINIMAL}    enabled: \${ENABLED}\ndelivery: { concurrency: "\${COUNT:-8}" }\n`;
    const { config } = load(text, { env: { ENABLED: "false" } });
    assert.equal(config?.destinations[0]?.enabled, false);
    assert.equal(config?.delivery.concurrency, 8);
  });

  it("leaves text from a reference text where text is expected", () => {
    const { config } = load(`${MINIMAL}    sharedSecret: \${SECRET}\n`, { env: { SECRET: "0123" } });
    assert.equal(config?.destinations[0]?.sharedSecrets[0]?.reveal(), "0123");
  });

  it("wants no token of an admin API that only this machine can reach", () => {
    for (const listen of ["127.0.0.2:1", "[::1]:1", "[0:0::1]:1", "localhost:1", "unix:/run/a.sock"]) {
      assert.deepEqual(errorsOf(`${MINIMAL}admin: { listen: "${listen}" }\n`), []);
    }
    for (const listen of ["0.0.0.0:1", "[::]:1", "localhost.example.com:1"]) {
      assert.match(errorsOf(`${MINIMAL}admin: { listen: "${listen}" }\n`).join(), /admin\.token: is missing here/);
      assert.deepEqual(errorsOf(`${MINIMAL}admin: { listen: "${listen}", token: abc }\n`), []);
    }
  });

  it("takes a token that a client can send in a header, and no other", () => {
    const ofToken = (TOKEN: string) => load(`${MINIMAL}admin: { token: "\${TOKEN}" }\n`, { env: { TOKEN } });
    for (const token of ["a", "!~", "abc+/=", "a,b;c:d", '"quoted"']) {
      assert.equal(ofToken(token).config?.admin.token?.reveal(), token);
      const request = new Request("http://a", { headers: { authorization: `Bearer ${token}` } });
      assert.equal(bearerToken(request), token);
    }
    for (const token of ["a b", " a", "a\n", "a\tb", "é", "\u00a0", "🙂", "a\u0000"]) {
      assert.match(
        ofToken(token)
          .problems.map(({ message }) => message)
          .join(),
        /^must be letters, digits and punctuation/,
      );
    }
    assert.match(
      ofToken("")
        .problems.map(({ message }) => message)
        .join(),
      /^must not be empty$/,
    );
  });

  it("takes a token for those who only look beside the other one, and not the same", () => {
    const alone = errorsOf(`${MINIMAL}admin: { readToken: hush-hush }\n`).join();
    assert.match(alone, /admin\.readToken: needs an admin\.token beside it/);
    const same = errorsOf(`${MINIMAL}admin: { token: hush-hush, readToken: hush-hush }\n`).join();
    assert.match(same, /admin\.readToken: is the same as admin\.token/);
    assert.doesNotMatch(alone + same, /hush/);
    assert.deepEqual(errorsOf(`${MINIMAL}admin: { token: a, readToken: b }\n`), []);
    // Nothing is known of one that only systemd's unit can read.
    const credentials = "admin: { token: '${credential:a}', readToken: '${credential:a}' }\n";
    const { problems } = load(MINIMAL + credentials, {}, { credentials: "unit only" });
    assert.deepEqual(
      problems.filter(({ severity }) => severity === "error"),
      [],
    );
  });

  it("lets both APIs listen on port 0, as each gets a port of its own", () => {
    assert.deepEqual(errorsOf(`${MINIMAL}ingest: { listen: "127.0.0.1:0" }\nadmin: { listen: "127.0.0.1:0" }\n`), []);
  });

  it("refuses a file over 1 MB, and takes one of 1 MB", () => {
    const full = MINIMAL.padEnd(1_048_576, "#");
    assert.deepEqual(errorsOf(full), []);
    assert.deepEqual(errorsOf(`${full.slice(0, -1)}é`), [
      "/etc/fairlead/config.yaml:1:1: the file is too large: a config file may have 1MB",
    ]);
  });

  it("refuses a key inside braces that has neither a colon nor a value", () => {
    assert.deepEqual(
      errorsOf("sources: { website: { writeKey } }\n"),
      ["/etc/fairlead/config.yaml:1:23: sources.website.writeKey: has no value: write one, or remove the key"].map(
        (line) => `${line}\n  sources: { website: { writeKey } }\n                        ^`,
      ),
    );
  });

  it("gives up on a file that is nested without end", () => {
    assert.match(errorsOf("[".repeat(100_000)).join(), /nested too deeply/);
    assert.match(errorsOf("- ".repeat(100_000)).join(), /nested too deeply/);
    const nested = (levels: number) => errorsOf(`log: ${"[".repeat(levels)}${"]".repeat(levels)}\n`).join();
    assert.doesNotMatch(nested(99), /too deeply/);
    assert.match(nested(100), /:1:105: lists or maps are nested too deeply: at most 100 levels/);
  });

  it("does not mind a byte order mark and Windows line ends", () => {
    assert.deepEqual(errorsOf(`\uFEFF${MINIMAL.trimStart().replaceAll("\n", "\r\n")}`), []);
    assert.match(errorsOf("\uFEFFlogs: 1\r\n").join(), /^\/etc\/fairlead\/config.yaml:1:1: logs: is not a known key/);
  });
});

function errorsOf(text: string): string[] {
  const { problems } = load(text);
  return problems.filter(({ severity }) => severity === "error").map(formatProblem);
}

/** The same with every Secret as text, since the values of two Secrets are not compared. */
function revealed(value: unknown): unknown {
  if (value instanceof Secret) return `secret ${value.reveal()}`;
  if (Array.isArray(value)) return value.map(revealed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, revealed(entry)]));
}
