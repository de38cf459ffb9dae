// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references, as a config file has them.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { parse, stringify } from "yaml";
import { exampleConfig } from "../../packaging/config-example.ts";
import { explainYaml, listSettings } from "../../src/config/explain.ts";
import { CERTS, KEY } from "./certificates.ts";
import { FILE, load, type World } from "./world.ts";

const WRITTEN = `# A file that says little.
ingest:
  listen: \${LISTEN:-0.0.0.0:80}
  tls: { cert: tls/cert.pem, key: "\${KEY_FILE}" }
admin:
  { token: "\${ADMIN_TOKEN}", readToken: eyes }
outbox: { maxSize: "\${file:size}" }
sources:
  website: { writeKey: abc, ip: truncate }
  my.app: { writeKey: "\${APP_KEY:-def}" }
destinations:
  crm:
    sources: [website,
      "\${SOURCE}"]
    webhooks:
      - url: https://\${HOST}/hooks
        headers:
          Authorization: Bearer \${file:token}
          X-Env: \${HOST}
        ca: ca.pem
      - { url: "https://standby.example.com/a/very/long/path/to/the/hooks/of/the/standby" }
    sharedSecret: ["\${credential:crm}", old]
`;

const EXPLAINED = `ingest:
  listen: 0.0.0.0:80                    # config.yaml:3, from the default of $LISTEN
  reusePort: false                      # default
  tls:
    cert: /etc/fairlead/tls/cert.pem    # config.yaml:4
    key: /key.pem                       # config.yaml:4, from $KEY_FILE
  trustedProxies: []                    # default
  corsOrigins: ["*"]                    # default
  maxCall: 32KB                         # default
  maxBatch: 500KB                       # default

admin:
  listen: 127.0.0.1:8081                # default
  token: "***"                          # config.yaml:6, from $ADMIN_TOKEN
  readToken: "***"                      # config.yaml:6
  dashboard: true                       # default

outbox:
  path: /etc/fairlead/fairlead.db       # default
  # url:                                # default: outbox.path counts
  # tls:                                # default: as sslmode says, with the public authorities
  # connections:                        # default: 10
  maxSize: "***"                        # config.yaml:7, from /etc/fairlead/size
  freeDisk: 64MB                        # default
  keepDelivered: 24h                    # default
  keepFailed: 30d                       # default

delivery:
  timeout: 5s                           # default
  cutoff: 4h                            # default
  concurrency: 64                       # default

log:
  level: info                           # default
  format: auto                          # default

sources:
  website:
    writeKey: "***"                     # config.yaml:9
    enabled: true                       # default
    type: auto                          # default
    ip: truncate                        # config.yaml:9
    # rate:                             # default: as fast as they come
    # burst:                            # default: what the rate allows in a second, and 1 at least
    # maxWaiting:                       # default: as much as the outbox takes
  my.app:
    writeKey: "***"                     # config.yaml:10, from the default of $APP_KEY
    enabled: true                       # default
    type: auto                          # default
    ip: keep                            # default
    # rate:                             # default: as fast as they come
    # burst:                            # default: what the rate allows in a second, and 1 at least
    # maxWaiting:                       # default: as much as the outbox takes

destinations:
  crm:
    enabled: true                       # default
    sources: [website, my.app]          # config.yaml:13, from $SOURCE
    # types:                            # default: all six
    historical: accept                  # default
    # events:                           # default: all names
    # where:                            # default: all calls
    # sample:                           # default: all users
    body: default                       # default
    webhooks:
      - url: https://erp.example/hooks  # config.yaml:16, from $HOST
        headers:
          Authorization: "***"          # config.yaml:18, from /etc/fairlead/token
          X-Env: "***"                  # config.yaml:19, from $HOST
        ca: /etc/fairlead/ca.pem        # config.yaml:20
        # cert:                         # default: none
        # key:                          # default: none
      - url: https://standby.example.com/a/very/long/path/to/the/hooks/of/the/standby  # config.yaml:21
        headers: {}                     # default
        # ca:                           # default: the public authorities
        # cert:                         # default: none
        # key:                          # default: none
    sharedSecret: ["***", "***"]        # config.yaml:22, from the credential crm
    standardWebhooks: false             # default
    # timeout:                          # default: delivery.timeout
    # cutoff:                           # default: delivery.cutoff
    # concurrency:                      # default: delivery.concurrency
    # rate:                             # default: as fast as it takes them
    # burst:                            # default: what the rate allows in a second, and a request for each webhook at least
    order: none                         # default

# include:                              # default: no other file

# notify:                               # default: no notifications
`;

const COMPLETE: World = {
  env: { ADMIN_TOKEN: "s3cret", HOST: "erp.example", SOURCE: "my.app", KEY_FILE: "/key.pem" },
  files: {
    "/etc/fairlead/size": "2GB\n",
    "/etc/fairlead/token": "s3cret",
    "/etc/fairlead/tls/cert.pem": CERTS.good,
    "/etc/fairlead/ca.pem": CERTS.ca,
    "/key.pem": KEY,
  },
  credentials: { crm: "s3cret" },
};

describe("an explained config", () => {
  it("has every key with its value and where that comes from, and no secret", () => {
    assert.equal(explain(WRITTEN, COMPLETE), EXPLAINED);
  });

  it("says where a list and its items come from, and breaks a long one into lines", () => {
    const long = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fd00::/8", "127.0.0.1", "${PROXY}"];
    const explained = explain(stringify({ ingest: { trustedProxies: long } }), { env: { PROXY: "10.1.2.3" } });
    assert.match(
      explained,
      /^ {2}trustedProxies:\n {4}- 10\.0\.0\.0\/8 +# config\.yaml:3\n(.*\n){4} {4}- 10\.1\.2\.3 +# config\.yaml:8, from \$PROXY$/m,
    );
  });

  it("hides what came from a file, whatever key it stands under, and does not mind what it was", () => {
    const text = "delivery: { concurrency: '${file:/n}' }\nlog: { level: '${credential:l}', format: 'js${file:/o}' }\n";
    const world = { files: { "/n": "8", "/o": "on" }, credentials: { l: "debug" } };
    assert.deepEqual(parse(explain(text, world)).log, { level: "***", format: "***" });
    assert.equal(parse(explain(text, world)).delivery.concurrency, "***");
  });

  it("shows what is known if a credential is not", () => {
    const text = "admin: { token: '${credential:t}' }\nlog: { level: '${credential:l}' }\n";
    const explained = explainYaml(load(text, {}, { credentials: "unit only" }), FILE);
    assert.match(explained, /^ {2}token: "\*\*\*" +# config\.yaml:1, from the credential t$/m);
    assert.match(explained, /^ {2}level: "\*\*\*" +# config\.yaml:2, from the credential l$/m);
  });

  it("names what was written in the file where there is nothing in it", () => {
    assert.match(explain("sources: {}\ningest:\n  corsOrigins: []\n"), /^sources: \{\} +# config\.yaml:1$/m);
    assert.match(explain("log:\n"), /^destinations: \{\} +# default$/m);
    assert.match(explain("ingest:\n  corsOrigins: []\n"), /^ {2}corsOrigins: \[\] +# config\.yaml:2$/m);
  });

  it("is a config again, which means the same, but for its secrets", () => {
    const example = exampleConfig();
    const again = load(explain(example));
    assert.deepEqual(again.problems, []);
    assert.equal(again.config?.sources[0]?.writeKey.reveal(), "***");
    // Secrets are *** in JSON too, so that only the others are compared.
    assert.equal(JSON.stringify(again.config), JSON.stringify(load(example).config));
  });

  it("means the same whatever is in its names and values", () => {
    let explained = 0;
    fc.assert(
      fc.property(anyText, anyHeader, anyName, (path, header, name) => {
        const written = {
          outbox: { path: "${ANY}" },
          sources: { [name]: { writeKey: "a" } },
          destinations: { [name]: { sources: [name], webhooks: [{ url: "http://a", headers: { [header]: "b" } }] } },
        };
        const world = { env: { ANY: path } };
        const { config } = load(stringify(written), world);
        if (config === null) return;
        explained += 1;
        const again = load(explain(stringify(written), world));
        assert.deepEqual(again.problems, []);
        assert.equal(JSON.stringify(again.config), JSON.stringify(config));
      }),
      { numRuns: 150 },
    );
    assert.ok(explained > 90, `only ${explained} of 150 loaded: this test shows little`);
  });
});

const anyText = fc.oneof(
  fc.string({ unit: "binary", minLength: 1, maxLength: 20 }),
  fc.constantFrom(
    "/a #b",
    "a: b",
    "null",
    "5",
    "- a",
    `/${"a".repeat(50)}\n${"b".repeat(50)}`,
    "${X}",
    "$${X}",
    "a\nb",
    "{a}",
    "'\"",
    "*a",
    "true",
    " a ",
  ),
);
const anyHeader = fc.oneof(fc.stringMatching(/^[\w!#$%&'*+.^`|~-]{1,9}$/), fc.constantFrom("null", "1", "true", "#"));
const anyName = fc.oneof(fc.stringMatching(/^[A-Za-z0-9_.-]{1,9}$/), fc.constantFrom("no", "0x1", "-", "~", "1e3"));

function explain(text: string, world?: World): string {
  const inspected = load(text, world);
  assert.deepEqual(
    inspected.problems.filter(({ severity }) => severity === "error"),
    [],
  );
  return explainYaml(inspected, FILE);
}

const TEXT = `
ingest: { trustedProxies: [127.0.0.1, "\${A}", "\${B}", "\${A}"] }
sources:
  my.app: { writeKey: abc }
destinations:
  crm:
    webhooks: [{ url: http://a }, { url: http://b, headers: { X-A: "\${A} \${file:/b}" } }]
`;

const LEFT_OUT = ["ca", "cert", "key"];

describe("the settings of a config, for programs", () => {
  const world = { env: { A: "10.0.0.1", B: "10.0.0.2" }, files: { "/b": "hush" } };
  const settings = listSettings(load(TEXT, world), FILE);
  const of = (wanted: string) => settings.filter(({ path }) => path.startsWith(wanted));

  it("have each key once, by its path, with the value that counts", () => {
    const paths = settings.map(({ path }) => path);
    assert.deepEqual(paths, [...new Set(paths)]);
    assert.deepEqual(of("delivery"), [
      { path: "delivery.timeout", value: "5s", from: "default" },
      { path: "delivery.cutoff", value: "4h", from: "default" },
      { path: "delivery.concurrency", value: 64, from: "default" },
    ]);
    assert.deepEqual(of('sources["my.app"].writeKey'), [
      { path: 'sources["my.app"].writeKey', value: "***", from: "/etc/fairlead/config.yaml:4" },
    ]);
  });

  it("have a list as one, which comes from all that its items come from", () => {
    assert.deepEqual(of("ingest.trustedProxies"), [
      {
        path: "ingest.trustedProxies",
        value: ["127.0.0.1", "10.0.0.1", "10.0.0.2", "10.0.0.1"],
        from: "/etc/fairlead/config.yaml:2, from $A and $B",
      },
    ]);
  });

  it("have what is in a list of maps by its number", () => {
    assert.deepEqual(of("destinations.crm.webhooks"), [
      { path: "destinations.crm.webhooks[0].url", value: "http://a", from: "/etc/fairlead/config.yaml:7" },
      { path: "destinations.crm.webhooks[0].headers", value: {}, from: "default" },
      ...LEFT_OUT.map((key) => ({ path: `destinations.crm.webhooks[0].${key}`, value: null, from: "default" })),
      { path: "destinations.crm.webhooks[1].url", value: "http://b", from: "/etc/fairlead/config.yaml:7" },
      {
        path: "destinations.crm.webhooks[1].headers.X-A",
        value: "***",
        from: "/etc/fairlead/config.yaml:7, from $A and /b",
      },
      ...LEFT_OUT.map((key) => ({ path: `destinations.crm.webhooks[1].${key}`, value: null, from: "default" })),
    ]);
  });

  it("have null for what is left out and has no default", () => {
    assert.deepEqual(of("destinations.crm.types"), [{ path: "destinations.crm.types", value: null, from: "default" }]);
  });
});
