// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references, as a config file has them.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { keysForRestart, withFixedKeys } from "../../src/config/changes.ts";
import { explainYaml } from "../../src/config/explain.ts";
import { readOutboxPart } from "../../src/config/parts.ts";
import { hasPassword, parseUrl, shownUrl } from "../../src/config/postgres.ts";
import { formatProblem } from "../../src/config/problems.ts";
import type { Postgres } from "../../src/model/config.ts";
import { MB } from "../../src/model/units.ts";
import { anyText } from "../model/make.ts";
import { CERTS, KEY } from "./certificates.ts";
import { FILE, load, told, type World, worldOf } from "./world.ts";

const REST = `
sources: { website: { writeKey: abc } }
destinations: { crm: { webhooks: [{ url: "https://crm.example.com/hooks" }] } }
`;
const SAFE = "postgres://fairlead@db.example.com/fairlead?sslmode=verify-full";
const FILES = { "/ca.pem": CERTS.ca, "/cert.pem": CERTS.good, "/key.pem": KEY, "/etc/fairlead/pw": "p@ss/w#rd\n" };

function loadOutbox(outbox: string, world: World = { files: FILES }) {
  return load(`outbox: ${outbox}${REST}`, world);
}

/** The database of a config without problems; passwords and keys as text. */
function databaseOf(outbox: string, world?: World) {
  const { config, problems } = loadOutbox(outbox, world);
  assert.deepEqual(problems, []);
  return plain(config?.outbox.postgres ?? assert.fail());
}

function plain({ password, tls, ...rest }: Postgres) {
  const files = typeof tls === "string" ? tls : tls && { ...tls, key: tls.key?.reveal() ?? null };
  return { ...rest, password: password?.reveal() ?? null, tls: files };
}

const NOTHING = { host: null, port: null, user: null, password: null, database: null, options: null };
const PUBLIC = { ca: null, cert: null, key: null };

describe("outbox.url", () => {
  it("takes the place of outbox.path, and is shown without its password", () => {
    const { config, problems } = loadOutbox('{ url: "postgresql://me:p%40ss@[::1]:6432/events?sslmode=disable" }');
    assert.deepEqual(problems, []);
    const { postgres, ...outbox } = config?.outbox ?? assert.fail();
    assert.equal(outbox.path, "postgresql://me@[::1]:6432/events?sslmode=disable");
    assert.equal(outbox.freeDisk, 0);
    assert.doesNotMatch(JSON.stringify(config), /p@ss|p%40ss/);
    assert.deepEqual(postgres && plain(postgres), {
      ...{ host: "::1", port: 6432, user: "me", password: "p@ss", database: "events", options: null },
      ...{ tls: "off", connections: 10 },
    });
  });

  it("leaves to the environment what it does not say", () => {
    for (const url of ["postgres://", "postgres:///", "postgresql://?"]) {
      assert.deepEqual(databaseOf(`{ url: "${url}" }`), { ...NOTHING, tls: null, connections: 10 });
    }
  });

  it("takes the folder of a Unix socket, where TLS makes no sense", () => {
    const host = "/run/postgresql";
    for (const url of [
      "postgres:///events?host=/run/postgresql",
      "postgres://%2Frun%2Fpostgresql/events?sslmode=require",
    ]) {
      assert.deepEqual(databaseOf(`{ url: "${url}" }`), {
        ...{ ...NOTHING, host, database: "events", tls: "off", connections: 10 },
      });
    }
  });

  it("takes the password of a file as it is", () => {
    const { password, host } = databaseOf(
      '{ url: "postgres://me:${file:pw}@db.example.com:5432/events?sslmode=verify-full" }',
    );
    assert.deepEqual([password, host], ["p@ss/w#rd", "db.example.com"]);
  });

  it("takes any password that has its % encoded", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        fc.pre(text.isWellFormed() && !/\p{Cc}/u.test(text) && text !== "");
        for (const written of [encodeURIComponent(text), text.replaceAll("%", "%25")]) {
          const parsed = parseUrl(`postgres://me:${written}@db:1/x`);
          assert.ok(typeof parsed !== "string", written);
          assert.deepEqual([parsed.password?.reveal(), parsed.user, parsed.host], [text, "me", "db"]);
          assert.equal(shownUrl(`postgres://me:${written}@db:1/x`), "postgres://me@db:1/x");
        }
      }),
    );
  });

  it("takes settings of the session, and a number of connections", () => {
    const { options, connections } = databaseOf(
      '{ url: "postgres://localhost?options=-c%20search_path%3Dfairlead", connections: 20 }',
    );
    assert.deepEqual([options, connections], ["-c search_path=fairlead", 20]);
  });

  for (const [url, why] of [
    ["mysql://db/x", "must start with postgres:// or postgresql://"],
    ["postgres://me@db/x/y", "must be a URL of PostgreSQL, as in "],
    ["postgres://db/100%", "has a % that encodes nothing: write %25 for the character itself"],
    ["postgres://one,two/x", "names several hosts: name the one that takes writes, or a proxy before them"],
    ["postgres://db:99999/x", "must have a port from 1 to 65535"],
    ["postgres://db?host=a&port=none", "must have a port from 1 to 65535"],
    [
      "postgres://db?sslmode=prefer",
      "must have an sslmode of disable, require, verify-ca, verify-full: the others may ",
    ],
    ["postgres://db?sslrootcert=/ca.pem", "has the parameter sslrootcert, which is not supported: known are host, "],
    ["postgres://db?sslmode=verify-ca", "has sslmode=verify-ca, which needs outbox.tls.ca: add it, or write "],
  ] as const) {
    it(`is refused: ${url}`, () => {
      const [message = "", ...others] = told(loadOutbox(`{ url: "${url}" }`));
      assert.ok(message.startsWith(`error outbox.url ${why}`), message);
      assert.deepEqual(others, []);
    });
  }

  it("is never shown with its password, whatever is wrong", () => {
    for (const url of [
      "postgres://me:hunter2@db:0/x",
      "postgres://me:hunter2@db?sslmode=no",
      "postgres://hunter2:%zz@db",
    ]) {
      const { problems } = loadOutbox(`{ url: "${url}" }`);
      assert.ok(problems.length > 0);
      assert.doesNotMatch(problems.map(formatProblem).join("\n"), /hunter2/);
    }
  });

  it("is a secret in a file that everyone can read only with a password", () => {
    const open = (url: string) =>
      told(
        load(`outbox: { url: "${url}" }${REST.replace("abc", '"${K}"')}`, { env: { K: "k" } }, { worldReadable: true }),
      );
    assert.match(
      open("postgres://me:pw@localhost/x").join(),
      /^warning outbox\.url is a secret in a file that every user/,
    );
    assert.deepEqual(open("postgres://me@localhost/x"), []);
    assert.deepEqual(["postgres://a@b:1/c?x=@", "postgres://a:b@c"].map(hasPassword), [false, true]);
  });

  it("is explained without its password, and as a config that means the same", () => {
    const file = { files: FILES };
    const written = loadOutbox(
      '{ url: "postgres://me:${file:pw}@db.example.com/x?sslmode=verify-full", connections: 3 }',
    );
    const text = explainYaml(written, FILE);
    assert.match(
      text,
      / url: postgres:\/\/me@db\.example\.com\/x\?sslmode=verify-full +# config\.yaml:1, from \/etc\/fairlead\/pw/,
    );
    assert.match(text, /# path: +# default: url counts/);
    const again = load(text, file);
    assert.deepEqual(told(again), []);
    assert.deepEqual(again.config?.outbox, {
      ...written.config?.outbox,
      postgres: { ...written.config?.outbox.postgres, password: null },
    });
  });
});

describe("what stands beside outbox.url", () => {
  it("is nothing that is about a file", () => {
    assert.deepEqual(told(loadOutbox(`{ path: f.db, url: "${SAFE}", freeDisk: 1GB }`)), [
      "error outbox.path names a file beside outbox.url: remove the one that is not the outbox",
      "error outbox.freeDisk is about the disk of outbox.path, and that of outbox.url cannot be seen from here: " +
        "remove this key",
    ]);
  });

  it("is nothing that a file does not need either", () => {
    assert.deepEqual(told(loadOutbox("{ tls: { ca: /ca.pem }, connections: 5 }")), [
      "error outbox.tls is for a database: add outbox.url, or remove this key",
      "error outbox.connections is for a database: add outbox.url, or remove this key",
    ]);
  });

  it("bounds its size, and how long things are kept", () => {
    const { config } = loadOutbox(`{ url: "${SAFE}", maxSize: 5MB, keepDelivered: 1s }`);
    assert.deepEqual([config?.outbox.maxSize, config?.outbox.keepDelivered], [5 * MB, 1_000]);
  });
});

describe("TLS to a database", () => {
  const CA = "tls: { ca: /ca.pem }";
  const url = (sslmode: string, host = "db.example.com") => `url: "postgres://${host}/x?${sslmode}"`;
  const tls = (outbox: string) => databaseOf(`{ ${outbox} }`).tls;

  it("is as sslmode says, by libpq's rules", () => {
    assert.deepEqual(tls(url("sslmode=verify-full")), { ...PUBLIC, verify: "full" });
    assert.deepEqual(tls(`${url("sslmode=verify-full")}, ${CA}`), { ...PUBLIC, verify: "full", ca: CERTS.ca });
    assert.deepEqual(tls(`${url("sslmode=verify-ca")}, ${CA}`), { ...PUBLIC, verify: "authority", ca: CERTS.ca });
    assert.deepEqual(tls(`${url("sslmode=require")}, ${CA}`), { ...PUBLIC, verify: "authority", ca: CERTS.ca });
    assert.deepEqual(tls(url("sslmode=require", "localhost")), { ...PUBLIC, verify: "none" });
    assert.equal(tls(url("sslmode=disable")), "off");
    assert.equal(tls(url("", "127.0.0.1")), null);
  });

  it("checks everything when there are certificates and no sslmode", () => {
    assert.deepEqual(tls(`${url("")}, ${CA}`), { ...PUBLIC, verify: "full", ca: CERTS.ca });
    assert.deepEqual(tls(`${url("")}, tls: {}`), { ...PUBLIC, verify: "full" });
  });

  it("shows our certificate, which needs its key", () => {
    const pair = "tls: { cert: /cert.pem, key: /key.pem }";
    assert.deepEqual(tls(`${url("")}, ${pair}`), { verify: "full", ca: null, cert: CERTS.good, key: KEY });
    assert.deepEqual(told(loadOutbox(`{ ${url("")}, tls: { cert: /cert.pem } }`)), [
      "error outbox.tls.cert needs its private key beside it: add `key` to outbox.tls",
    ]);
    assert.match(
      told(loadOutbox(`{ ${url("")}, tls: { ca: /none.pem } }`)).join(),
      /outbox\.tls\.ca names \/none\.pem, which/,
    );
  });

  it("is not there where it contradicts the URL", () => {
    assert.deepEqual(told(loadOutbox(`{ ${url("sslmode=disable")}, ${CA} }`)), [
      "error outbox.tls contradicts sslmode=disable in outbox.url: remove one of them",
    ]);
    assert.deepEqual(told(loadOutbox(`{ url: "postgres:///x?host=/run", ${CA} }`)), [
      "error outbox.tls is for TCP, and outbox.url names a Unix socket",
    ]);
  });

  it("is missed on the way to another machine", () => {
    assert.match(
      told(loadOutbox(`{ ${url("")} }`)).join(),
      /^warning outbox\.url does not ask for TLS, so that the network/,
    );
    assert.match(
      told(loadOutbox(`{ ${url("sslmode=require")} }`)).join(),
      /^warning outbox\.url has sslmode=require, with/,
    );
  });
});

describe("a reload", () => {
  it("cannot change the database, nor how it is reached", () => {
    const of = (outbox: string) => loadOutbox(outbox).config ?? assert.fail(outbox);
    const old = of(`{ url: "${SAFE}" }`);
    const restart = (outbox: string) => keysForRestart(old, of(outbox));
    assert.deepEqual(restart(`{ url: "${SAFE}", maxSize: 5MB }`), []);
    assert.deepEqual(restart(`{ url: "${SAFE}", connections: 5 }`), ["outbox.connections"]);
    assert.deepEqual(restart(`{ url: "${SAFE}", tls: { ca: /ca.pem } }`), ["outbox.tls"]);
    assert.deepEqual(restart(`{ url: "${SAFE.replace("@", ":pw@")}" }`), ["outbox.url"]);
    assert.deepEqual(restart("{}"), ["outbox.path", "outbox.url", "outbox.tls", "outbox.connections"]);
  });

  it("keeps the bound of a file's disk while the file is the outbox", () => {
    const [file, database] = ["{ freeDisk: 1GB }", `{ url: "${SAFE}", maxSize: 5MB }`].map((outbox) => {
      return loadOutbox(outbox).config ?? assert.fail();
    });
    assert.ok(file && database);
    assert.deepEqual(withFixedKeys(file, database).outbox, { ...file.outbox, maxSize: 5 * MB });
    assert.deepEqual(withFixedKeys(database, file).outbox, {
      ...file.outbox,
      ...{ path: SAFE, postgres: database.outbox.postgres, freeDisk: 0 },
    });
  });
});

describe("the outbox for commands", () => {
  it("is the database of the config, whatever is wrong elsewhere", () => {
    const text = `outbox: { url: "${SAFE}", ${"tls: { ca: /ca.pem }"} }\nsources: 5\n`;
    const outbox = readOutboxPart({ file: FILE, text, resolve: worldOf({ files: FILES }) });
    assert.ok(!("faulty" in outbox));
    assert.equal(outbox.path, SAFE);
    assert.equal(outbox.postgres?.host, "db.example.com");
  });
});
