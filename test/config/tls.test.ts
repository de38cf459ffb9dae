// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references, as a config file has them.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { formatProblem } from "../../src/config/problems.ts";
import { parseCertificates, parsePrivateKey } from "../../src/config/tls.ts";
import { CERTS, ENCRYPTED_KEY, KEY, OTHER_KEY, RSA_KEY } from "./certificates.ts";
import { load, NOW, told, type World } from "./world.ts";

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

  it("refuses a key that does not belong to the first certificate", () => {
    const other = load(TLS, { files: { "/cert.pem": CERTS.good, "/key.pem": RSA_KEY } });
    assert.deepEqual(told(other), [
      "error ingest.tls.key names /key.pem, which does not belong to the certificate in ingest.tls.cert",
    ]);
    const reversed = load(TLS, { files: { "/cert.pem": CERTS.ca + CERTS.good, "/key.pem": KEY } });
    assert.deepEqual(told(reversed), [
      "error ingest.tls.cert names /cert.pem, which has the certificate that belongs to the key as number 2: put it first",
    ]);
    assert.equal(reversed.config, null);
  });

  it("goes by the time that it is told", () => {
    const files = { "/cert.pem": CERTS.good, "/key.pem": KEY };
    const messagesAt = (now: number) => load(TLS, { files }, { now }).problems.map(({ message }) => message);
    assert.match(messagesAt(Date.UTC(2120, 0, 1)).join(), /expired on 2120-01-01: clients refuse it; renew it$/);
    assert.deepEqual(messagesAt(Date.UTC(2120, 0, 1) - 1), []);
    assert.deepEqual(messagesAt(Date.UTC(2020, 0, 1)), []);
    assert.match(
      messagesAt(Date.UTC(2020, 0, 1) - 1).join(),
      /is not valid before 2020-01-01: clients refuse it until then, or this machine's clock is wrong$/,
    );
  });

  it("warns of a key that everyone can read, but not of a certificate", () => {
    const { config, problems } = load(TLS, { openFiles: { "/cert.pem": CERTS.good, "/key.pem": KEY } });
    assert.notEqual(config, null);
    assert.deepEqual(told({ problems }), [
      "warning ingest.tls.key names /key.pem, which every user of this machine can read: run chmod o-r on it",
    ]);
  });

  it("is refused on a Unix socket, together with all else that is wrong", () => {
    const text = `ingest: { listen: "unix:/run/a.sock", tls: { cert: /cert.pem } }${REST}`;
    assert.deepEqual(told(load(text)), [
      "error ingest.tls needs a TCP address, and ingest.listen is a Unix socket: let the proxy that connects to it speak TLS",
      "error ingest.tls.key is missing here: it is required",
      "error ingest.tls.cert names /cert.pem, which cannot be read as PEM: no such file",
    ]);
  });

  it("is checked although other parts of the file are wrong", () => {
    assert.match(
      told(load(`${TLS}log: { level: loud }\n`)).join("\n"),
      /tls\.cert names .*\n.*tls\.key names .*\nerror log\.level/,
    );
  });

  it("does not show a path that a reference brought in: it may be a secret in the wrong place", () => {
    const text = TLS.replace("/key.pem", '"${TOKEN}"').replace("/cert.pem", '"${file:/token}"');
    const loaded = load(text, { env: { TOKEN: "my-token" }, files: { "/token": "my-token\n" } });
    assert.deepEqual(told(loaded), [
      'error ingest.tls.cert names the file that "${file:/token}" stands for, which cannot be read as PEM: no such file',
      'error ingest.tls.key names the file that "${TOKEN}" stands for, which cannot be read as PEM: no such file',
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
      assert.deepEqual(told(loaded), ["error ingest.tls.key must be the path of a file, and not what is in it"]);
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

/** Not even a few characters of the key. */
function assertHidden(printed: string): void {
  const body = KEY.replace(/-----[^-]+-----/g, "").replace(/\s/g, "");
  for (let at = 0; at + 6 <= body.length; at++) assert.ok(!printed.includes(body.slice(at, at + 6)), printed);
}

const CLIENT = "cert: /client.pem, key: /client-key.pem";
const PAIR = { "/client.pem": CERTS.good, "/client-key.pem": KEY };

/** A config with one destination, whose webhooks have these keys beside their URLs. */
function textOf(...webhooks: readonly string[]): string {
  const list = webhooks.map((keys, index) => `{ url: "https://${index}.example.com", ${keys} }`);
  return `sources: { web: { writeKey: abc } }\ndestinations: { crm: { webhooks: [${list.join(", ")}] } }\n`;
}

function tlsOf({ config }: ReturnType<typeof load>) {
  return config?.destinations[0]?.webhooks.map(({ tls }) => tls && { ...tls, key: tls.key?.reveal() ?? null });
}

describe("ca, cert and key of a webhook", () => {
  it("are for that webhook alone: another of the same destination has its own, or none", () => {
    const files = { ...PAIR, "/etc/fairlead/ca.pem": CERTS.ca };
    const loaded = load(textOf("", "ca: ca.pem", CLIENT, `ca: ca.pem, ${CLIENT}`), { files });
    assert.deepEqual(loaded.problems, []);
    const cert = CERTS.good;
    assert.deepEqual(tlsOf(loaded), [
      null,
      { ca: CERTS.ca, cert: null, key: null },
      { ca: null, cert, key: KEY },
      { ca: CERTS.ca, cert, key: KEY },
    ]);
  });

  it("are among the files to be watched, also while they cannot be read", () => {
    const { files } = load(textOf(`ca: ca.pem, ${CLIENT}`), { files: { "/client.pem": CERTS.good } });
    assert.deepEqual(files, ["/etc/fairlead/ca.pem", "/client.pem", "/client-key.pem"]);
  });

  it("may be in one file together, and name it by a reference", () => {
    const text = textOf('ca: "${ALL}", cert: all.pem, key: /etc/fairlead/all.pem');
    const all = `${KEY}${CERTS.good}`;
    const loaded = load(text, { env: { ALL: "all.pem" }, files: { "/etc/fairlead/all.pem": all } });
    assert.deepEqual(tlsOf(loaded), [{ ca: CERTS.good, cert: CERTS.good, key: KEY }]);
  });

  it("keep every authority of a file in its order, with a doubt about the first doubtful one alone", () => {
    const files = { "/ca.pem": `${CERTS.ca}${CERTS.expired}${CERTS.good}` };
    const loaded = load(textOf("ca: /ca.pem"), { files });
    assert.equal(tlsOf(loaded)?.[0]?.ca, files["/ca.pem"]);
    assert.deepEqual(told(loaded), [
      "warning destinations.crm.webhooks[0].ca names /ca.pem, which has an authority in it (number 2) that expired on 2001-01-01: renew it",
    ]);
  });

  it("go by the time that they are told", () => {
    const files = { ...PAIR, "/ca.pem": CERTS.ca };
    const at = (now: number) => told(load(textOf(`ca: /ca.pem, ${CLIENT}`), { files }, { now }));
    assert.deepEqual(at(NOW), []);
    const late = at(Date.UTC(2200, 0, 1));
    assert.match(late[0] ?? "", /^warning .*\.ca names \/ca\.pem, which has an authority in it .* that expired on 2/);
    assert.match(late[1] ?? "", /^warning .*\.cert .*, which expired on 2120-01-01: receivers refuse it; renew it$/);
  });

  it("do not need a good ca to have a wrong key found, and the other way round", () => {
    const files = { "/client.pem": CERTS.good, "/client-key.pem": ENCRYPTED_KEY, "/ca.pem": "nothing" };
    const [ca, key, ...more] = told(load(textOf(`ca: /ca.pem, ${CLIENT}`), { files }));
    assert.match(ca ?? "", /^error .*\.ca names \/ca\.pem, which has no PEM certificate in it/);
    assert.match(key ?? "", /^error .*\.key names \/client-key\.pem, which has a passphrase/);
    assert.deepEqual(more, []);
  });

  it("are not missing when they are misspelt", () => {
    const { problems } = load(textOf("cert: /client.pem, kye: /client-key.pem"), { files: PAIR });
    assert.deepEqual(
      problems.map(({ path }) => path),
      ["destinations.crm.webhooks[0].kye"],
    );
  });

  it("are no content of files, and do not show a key that stands there by mistake", () => {
    const loaded = load(textOf(`cert: /client.pem, key: ${JSON.stringify(KEY)}`), { files: PAIR });
    assert.deepEqual(told(loaded), [
      "error destinations.crm.webhooks[0].key must be the path of a file, and not what is in it",
    ]);
    const body = KEY.split("\n")[1] ?? assert.fail();
    assert.ok(!loaded.problems.map(formatProblem).join("\n").includes(body.slice(0, 10)));
  });

  it("belong to https:// in any spelling, and the url is said to be wrong if it is", () => {
    const files = { ...PAIR };
    const upper = load(textOf(CLIENT).replace("https:", "HTTPS:"), { files });
    assert.deepEqual(told(upper), []);
    const plain = load(textOf(CLIENT).replace("https:", "HTTP:"), { files });
    assert.equal(plain.problems.length, 2);
    const broken = load(textOf(CLIENT).replace("https:", "htp:"), { files });
    assert.deepEqual(
      broken.problems.map(({ path }) => path),
      ["destinations.crm.webhooks[0].url"],
    );
  });
});

/** What `openssl ecparam -genkey` writes before the key. */
const PARAMETERS = "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n";
const GARBAGE = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";

describe("parseCertificates", () => {
  it("takes a certificate with those of its issuers, in the order of the file", () => {
    const found = parseCertificates(CERTS.good + CERTS.ca);
    assert.ok(typeof found !== "string");
    assert.deepEqual(
      found.chain.map(({ subject }) => subject),
      ["CN=good", "CN=Fairlead test CA"],
    );
    assert.equal(found.pem, CERTS.good + CERTS.ca);
  });

  it("keeps the certificates alone: not the key beside them, nor the words between", () => {
    const found = parseCertificates(`${KEY}subject=CN=good\r\n${CERTS.good.trimEnd()}\n\nissuer\n${CERTS.ca}`);
    assert.ok(typeof found !== "string");
    assert.equal(found.pem, CERTS.good + CERTS.ca);
  });

  it("takes line ends of Windows", () => {
    assert.notEqual(typeof parseCertificates(CERTS.good.replaceAll("\n", "\r\n")), "string");
  });

  it("takes a long chain, and a long block that is no certificate", () => {
    const long = `-----BEGIN X-----\n${"A".repeat(60_000)}\n-----END X-----\n`;
    const found = parseCertificates(long + CERTS.good.repeat(50));
    assert.ok(typeof found !== "string");
    assert.equal(found.chain.length, 50);
  });

  it("says which certificate cannot be read", () => {
    assert.equal(parseCertificates(CERTS.good + GARBAGE), "has a certificate in it that cannot be read: number 2");
  });

  it("says when there is none, and when there is a key instead", () => {
    const none = "has no PEM certificate in it (-----BEGIN CERTIFICATE-----)";
    assert.equal(parseCertificates("hello"), none);
    assert.equal(parseCertificates(CERTS.good.slice(0, -10)), none);
    assert.equal(parseCertificates(KEY), `${none}, but a private key: are cert and key the wrong way round?`);
  });
});

describe("parsePrivateKey", () => {
  for (const [kind, pem] of Object.entries({ SEC1: KEY, "PKCS#8": OTHER_KEY, RSA: RSA_KEY })) {
    it(`takes a key in the form of ${kind}`, () => {
      const found = parsePrivateKey(pem);
      assert.ok(typeof found !== "string");
      assert.equal(found.pem, pem);
    });
  }

  it("finds the key beside parameters and certificates, and keeps it alone", () => {
    const found = parsePrivateKey(PARAMETERS + CERTS.good + KEY);
    assert.ok(typeof found !== "string");
    assert.equal(found.pem, KEY);
  });

  it("says how to take off a passphrase, in the new form and in the old one", () => {
    const message =
      /^has a passphrase, which a daemon cannot ask for: remove it with `openssl pkey -in KEY -out NEW_KEY`/;
    const old = KEY.replace("-----\n", "-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,AB\n\n");
    assert.match(`${parsePrivateKey(ENCRYPTED_KEY)}`, message);
    assert.match(`${parsePrivateKey(old)}`, message);
  });

  it("says when there is none, and when there is a certificate instead", () => {
    const none = "has no PEM private key in it (-----BEGIN PRIVATE KEY-----)";
    assert.equal(parsePrivateKey("hello"), none);
    assert.equal(parsePrivateKey(KEY.slice(0, -10)), none);
    assert.equal(parsePrivateKey(CERTS.good), `${none}, but a certificate: are cert and key the wrong way round?`);
  });

  it("says when it cannot be read, without a word of it", () => {
    const broken = KEY.replace(/\n\w{9}/, "\nAAAAAAAAA");
    assert.equal(
      parsePrivateKey(broken),
      "has a private key that cannot be read, or of a kind that TLS does not use: make an RSA or EC key",
    );
  });
});
