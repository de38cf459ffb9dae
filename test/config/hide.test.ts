// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references, as a config file has them.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseDocument } from "yaml";
import { hideAnywhere, hideSecrets, hideSecretsOfBroken } from "../../src/config/hide.ts";
import { atOnce } from "../../src/config/steps.ts";

describe("hideSecrets", () => {
  it("hides the values of secret keys, spelt right or wrong, and moves nothing", () => {
    const text = ["writeKey: abc", 'tokn: "a b"', "headers: { X-A: 'abc', X-B: d }", "path: abc", ""].join("\n");
    assert.equal(
      atOnce(hideSecrets(text, [parseDocument(text)])),
      ["writeKey: ***", 'tokn: "* *"', "headers: { X-A: '***', X-B: * }", "path: abc", ""].join("\n"),
    );
  });

  it("hides lists and texts of several lines", () => {
    const text = "sharedSecret:\n  - abc\n  - |\n    de\n    f\nlog: x\n";
    const hidden = atOnce(hideSecrets(text, [parseDocument(text)]));
    assert.equal(hidden, "sharedSecret:\n  - ***\n  - *\n    **\n    *\nlog: x\n");
  });

  it("shows references but not their defaults, nor what only looks like one", () => {
    const text = "token: a${NAME:-bc}d${file:/path}e$${f}${g!}\n";
    const hidden = atOnce(hideSecrets(text, [parseDocument(text)]));
    assert.equal(hidden, "token: *${NAME:-**}*${file:/path}***********\n");
  });
});

describe("hideSecretsOfBroken", () => {
  it("goes by lines where the values cannot be found", () => {
    const text = 'a: [\nwriteKey: "abc" def\n- { token: abc }\nlog: x\n';
    const hidden = atOnce(hideSecretsOfBroken(text, []));
    assert.equal(hidden, "a: [\nwriteKey: ***** ***\n- { token: *** *\nlog: x\n");
  });

  it("hides a private key, also below a secret key whose line is hidden already", () => {
    const text = "token: -----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----\nlog: x\n";
    const hidden = atOnce(hideSecretsOfBroken(text, []));
    assert.equal(hidden, "token: ********** ******* ********\n***\n-----END PRIVATE KEY-----\nlog: x\n");
  });
});

describe("hideAnywhere", () => {
  it("hides the user name and the password of each URL", () => {
    const text = "https://a:b@c/d 'http://e@f' https://g/h";
    assert.equal(hideAnywhere(text), "https://***@c/d 'http://*@f' https://g/h");
  });

  it("hides private keys, also one that never ends, and moves nothing", () => {
    const [begin, end] = ["-----BEGIN EC PRIVATE KEY-----", "-----END EC PRIVATE KEY-----"];
    assert.equal(hideAnywhere(`${begin}\n  ab/+c=\n${end}\nabc`), `${begin}\n  ******\n${end}\nabc`);
    assert.equal(hideAnywhere(`a ${begin}\\nabc\\n\nd`), `a ${begin}*******\n*`);
  });

  it("shows certificates", () => {
    const text = "-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----";
    assert.equal(hideAnywhere(text), text);
  });
});
