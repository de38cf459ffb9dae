// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references, as a config file has them.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { loadConfig } from "../../src/config/load.ts";
import { formatProblem } from "../../src/config/problems.ts";
import { CERTS, ENCRYPTED_KEY, KEY } from "./certificates.ts";
import { NOW, type World, worldOf } from "./world.ts";

const CLIENT = "cert: /client.pem, key: /client-key.pem";
const PAIR = { "/client.pem": CERTS.good, "/client-key.pem": KEY };

/** A config with one destination, whose webhooks have these keys beside their URLs. */
function textOf(...webhooks: readonly string[]): string {
  const list = webhooks.map((keys, index) => `{ url: "https://${index}.example.com", ${keys} }`);
  return `sources: { web: { writeKey: abc } }\ndestinations: { crm: { webhooks: [${list.join(", ")}] } }\n`;
}

function load(text: string, world?: World, now = NOW) {
  return loadConfig({ file: "/etc/fairlead/config.yaml", text, resolve: worldOf(world), now });
}

function tlsOf({ config }: ReturnType<typeof load>) {
  return config?.destinations[0]?.webhooks.map(({ tls }) => tls && { ...tls, key: tls.key?.reveal() ?? null });
}

function said({ problems }: ReturnType<typeof load>): readonly string[] {
  return problems.map(({ severity, path, message }) => `${severity} ${path} ${message}`);
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
    assert.deepEqual(said(loaded), [
      "warning destinations.crm.webhooks[0].ca names /ca.pem, which has an authority in it (number 2) that expired on 2001-01-01: renew it",
    ]);
  });

  it("go by the time that they are told", () => {
    const files = { ...PAIR, "/ca.pem": CERTS.ca };
    const at = (now: number) => said(load(textOf(`ca: /ca.pem, ${CLIENT}`), { files }, now));
    assert.deepEqual(at(NOW), []);
    const late = at(Date.UTC(2200, 0, 1));
    assert.match(late[0] ?? "", /^warning .*\.ca names \/ca\.pem, which has an authority in it .* that expired on 2/);
    assert.match(late[1] ?? "", /^warning .*\.cert .*, which expired on 2120-01-01: receivers refuse it; renew it$/);
  });

  it("do not need a good ca to have a wrong key found, and the other way round", () => {
    const files = { "/client.pem": CERTS.good, "/client-key.pem": ENCRYPTED_KEY, "/ca.pem": "nothing" };
    const [ca, key, ...more] = said(load(textOf(`ca: /ca.pem, ${CLIENT}`), { files }));
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
    assert.deepEqual(said(loaded), [
      "error destinations.crm.webhooks[0].key must be the path of a file, and not what is in it",
    ]);
    const body = KEY.split("\n")[1] ?? assert.fail();
    assert.ok(!loaded.problems.map(formatProblem).join("\n").includes(body.slice(0, 10)));
  });

  it("belong to https:// in any spelling, and the url is said to be wrong if it is", () => {
    const files = { ...PAIR };
    const upper = load(textOf(CLIENT).replace("https:", "HTTPS:"), { files });
    assert.deepEqual(said(upper), []);
    const plain = load(textOf(CLIENT).replace("https:", "HTTP:"), { files });
    assert.equal(plain.problems.length, 2);
    const broken = load(textOf(CLIENT).replace("https:", "htp:"), { files });
    assert.deepEqual(
      broken.problems.map(({ path }) => path),
      ["destinations.crm.webhooks[0].url"],
    );
  });
});
