// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references, as a config file has them.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { loadConfig } from "../../src/config/load.ts";
import { formatProblem } from "../../src/config/problems.ts";
import { CERTS, ENCRYPTED_KEY, KEY, OTHER_KEY, RSA_KEY } from "./certificates.ts";
import { NOW, type World, worldOf } from "./world.ts";

const REST = `
sources: { website: { writeKey: abc } }
destinations: { crm: { webhooks: [{ url: "https://crm.example.com/hooks" }] } }
`;
const TLS = `ingest: { tls: { cert: /cert.pem, key: /key.pem } }${REST}`;

describe("ingest.tls", () => {
  it("gives the certificate with its chain and the key, and where they came from", () => {
    const { config, problems } = load(TLS, { files: { "/cert.pem": CERTS.good + CERTS.ca, "/key.pem": KEY } });
    assert.deepEqual(problems, []);
    const { key, ...rest } = config?.ingest.tls ?? assert.fail();
    assert.deepEqual(rest, { certFile: "/cert.pem", keyFile: "/key.pem", cert: CERTS.good + CERTS.ca });
    assert.equal(key.reveal(), KEY);
  });

  it("takes both out of one file", () => {
    const text = TLS.replaceAll(/\/\w+\.pem/g, "both.pem");
    const { config, files } = load(text, { files: { "/etc/fairlead/both.pem": KEY + CERTS.good } });
    assert.equal(config?.ingest.tls?.cert, CERTS.good);
    assert.equal(config?.ingest.tls?.key.reveal(), KEY);
    assert.deepEqual(files, ["/etc/fairlead/both.pem"]);
  });

  const wrong: readonly [mistake: string, files: Readonly<Record<string, string>>, said: readonly string[]][] = [
    [
      "files that are not there",
      {},
      [
        "ingest.tls.cert names /cert.pem, which cannot be read as PEM: no such file",
        "ingest.tls.key names /key.pem, which cannot be read as PEM: no such file",
      ],
    ],
    [
      "files that hold something else",
      { "/cert.pem": "", "/key.pem": "a" },
      [
        "ingest.tls.cert names /cert.pem, which has no PEM certificate in it (-----BEGIN CERTIFICATE-----)",
        "ingest.tls.key names /key.pem, which has no PEM private key in it (-----BEGIN PRIVATE KEY-----)",
      ],
    ],
    [
      "a key with a passphrase",
      { "/cert.pem": CERTS.good, "/key.pem": ENCRYPTED_KEY },
      [
        "ingest.tls.key names /key.pem, which has a passphrase, which a daemon cannot ask for: remove it with `openssl pkey -in KEY -out NEW_KEY`",
      ],
    ],
    [
      "a key of another certificate",
      { "/cert.pem": CERTS.good, "/key.pem": OTHER_KEY },
      ["ingest.tls.key names /key.pem, which does not belong to the certificate in ingest.tls.cert"],
    ],
    [
      "a key of another kind",
      { "/cert.pem": CERTS.good, "/key.pem": RSA_KEY },
      ["ingest.tls.key names /key.pem, which does not belong to the certificate in ingest.tls.cert"],
    ],
    [
      "a chain in the wrong order",
      { "/cert.pem": CERTS.ca + CERTS.good, "/key.pem": KEY },
      ["ingest.tls.cert names /cert.pem, which has the certificate that belongs to the key as number 2: put it first"],
    ],
  ];
  for (const [mistake, files, said] of wrong) {
    it(`refuses ${mistake}`, () => {
      const { config, problems } = load(TLS, { files });
      assert.equal(config, null);
      assert.deepEqual(
        problems.map(({ severity, path, message }) => `${severity} ${path} ${message}`),
        said.map((one) => `error ${one}`),
      );
    });
  }

  const doubtful: readonly [doubt: string, cert: string, said: string][] = [
    ["that has expired", CERTS.expired, "expired on 2001-01-01: clients refuse it; renew it"],
    [
      "that is not valid yet",
      CERTS.notYetValid,
      "is not valid before 2100-01-01: clients refuse it until then, or this machine's clock is wrong",
    ],
  ];
  for (const [doubt, cert, said] of doubtful) {
    it(`warns of a certificate ${doubt}, and uses it`, () => {
      const { config, problems } = load(TLS, { files: { "/cert.pem": cert, "/key.pem": KEY } });
      assert.equal(config?.ingest.tls?.cert, cert);
      assert.deepEqual(
        problems.map(({ severity, path, message }) => [severity, path, message]),
        [["warning", "ingest.tls.cert", `names /cert.pem, which ${said}`]],
      );
    });
  }

  it("goes by the time that it is told", () => {
    const files = { "/cert.pem": CERTS.good, "/key.pem": KEY };
    const messagesAt = (now: number) => load(TLS, { files }, now).problems.map(({ message }) => message);
    assert.match(messagesAt(Date.UTC(2120, 0, 1)).join(), /expired on 2120-01-01/);
    assert.deepEqual(messagesAt(Date.UTC(2120, 0, 1) - 1), []);
    assert.deepEqual(messagesAt(Date.UTC(2020, 0, 1)), []);
    assert.match(messagesAt(Date.UTC(2020, 0, 1) - 1).join(), /not valid before 2020-01-01/);
  });

  it("warns of a key that everyone can read, but not of a certificate", () => {
    const { config, problems } = load(TLS, { openFiles: { "/cert.pem": CERTS.good, "/key.pem": KEY } });
    assert.notEqual(config, null);
    assert.deepEqual(
      problems.map(({ severity, path, message }) => [severity, path, message]),
      [["warning", "ingest.tls.key", "names /key.pem, which every user of this machine can read: run chmod o-r on it"]],
    );
  });

  it("is refused on a Unix socket, together with all else that is wrong", () => {
    const text = `ingest: { listen: "unix:/run/a.sock", tls: { cert: /cert.pem } }${REST}`;
    assert.deepEqual(said(load(text)), [
      "ingest.tls needs a TCP address, and ingest.listen is a Unix socket: let the proxy that connects to it speak TLS",
      "ingest.tls.key is missing here: it is required",
      "ingest.tls.cert names /cert.pem, which cannot be read as PEM: no such file",
    ]);
  });

  it("is checked although other parts of the file are wrong", () => {
    assert.match(
      said(load(`${TLS}log: { level: loud }\n`)).join("\n"),
      /tls\.cert names .*\n.*tls\.key names .*\nlog\.level/,
    );
  });

  it("does not show a path that a reference brought in: it may be a secret in the wrong place", () => {
    const text = TLS.replace("/key.pem", '"${TOKEN}"').replace("/cert.pem", '"${file:/token}"');
    const loaded = load(text, { env: { TOKEN: "my-token" }, files: { "/token": "my-token\n" } });
    assert.deepEqual(said(loaded), [
      'ingest.tls.cert names the file that "${file:/token}" stands for, which cannot be read as PEM: no such file',
      'ingest.tls.key names the file that "${TOKEN}" stands for, which cannot be read as PEM: no such file',
    ]);
    assert.doesNotMatch(loaded.problems.map(formatProblem).join("\n"), /my-token/);
  });

  it("does not show the password of a URL in place of a path", () => {
    const { problems } = load(TLS.replace("/cert.pem", '"https://me:my-secret@host/cert.pem"'));
    assert.equal(problems[0]?.path, "ingest.tls.cert");
    assert.doesNotMatch(problems.map(formatProblem).join("\n"), /my-secret/);
  });

  const inline: readonly [how: string, text: string, world: World][] = [
    ["by a reference", TLS.replace("/key.pem", '"${file:/key.pem}"'), { files: { "/key.pem": KEY } }],
    ["from the environment", TLS.replace("/key.pem", '"${KEY}"'), { env: { KEY } }],
    ["in quotes", TLS.replace("/key.pem", JSON.stringify(KEY)), {}],
    ["in quotes, on lines of its own", TLS.replace("/key.pem", `"${KEY.replaceAll("\n", "\n  ")}"`), {}],
    ["as a block", `ingest:\n  tls:\n    cert: /cert.pem\n    key: |\n${KEY.replace(/^/gm, "      ")}${REST}`, {}],
  ];
  for (const [how, text, world] of inline) {
    it(`refuses the key itself in place of its file, ${how}, and does not show it`, () => {
      const loaded = load(text, { ...world, files: { ...world.files, "/cert.pem": CERTS.good } });
      assert.deepEqual(said(loaded), ["ingest.tls.key must be the path of a file, and not what is in it"]);
      assertHidden(loaded.problems.map(formatProblem).join("\n"));
    });
  }

  it("does not show a key that breaks the syntax of the file", () => {
    for (const text of [`ingest:\n  tls:\n    key: |\n${KEY}`, `ingest: {\n tls: { key: ${KEY} }`, `a: "${KEY}`]) {
      const { problems } = load(text);
      assert.ok(problems.length > 0);
      assertHidden(problems.map(formatProblem).join("\n"));
    }
  });
});

function load(text: string, world?: World, now = NOW) {
  return loadConfig({ file: "/etc/fairlead/config.yaml", text, resolve: worldOf(world), now });
}

function said({ problems }: ReturnType<typeof load>): readonly string[] {
  return problems.map(({ path, message }) => `${path} ${message}`);
}

/** Not even a few characters of the key. */
function assertHidden(printed: string): void {
  const body = KEY.replace(/-----[^-]+-----/g, "").replace(/\s/g, "");
  for (let at = 0; at + 6 <= body.length; at++) assert.ok(!printed.includes(body.slice(at, at + 6)), printed);
}
