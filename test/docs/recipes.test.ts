// The recipes for other programs: their YAML has the documented shape, and its parts fit each other and the daemon.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import * as v from "valibot";
import { parse, parseDocument } from "yaml";
import type { Config } from "../../src/model/config.ts";
import { load, told } from "../config/world.ts";
import { startDaemon } from "../flow/daemon.ts";

/** The blocks of YAML on a recipe's page, as text. */
function blocksOf(name: string): readonly string[] {
  const page = readFileSync(new URL(`../../docs/recipes/${name}.md`, import.meta.url), "utf8");
  return [...page.matchAll(/^```yaml\n([\s\S]*?)^```/gm)].map(([, text = ""]) => text);
}

/** The config of a text, with every secret file that it names. */
function configOf(text: string, folder: string): Config {
  const named = [...text.matchAll(/\$\{file:([^}]+)\}/g)].map(([, path = ""]) => path);
  const paths = named.map((path) => (path.startsWith("/") ? path : `${folder}/${path}`));
  const loaded = load(text, { files: Object.fromEntries(paths.map((path, nth) => [path, `secret-number-${nth}\n`])) });
  assert.deepEqual(told(loaded), []);
  return loaded.config ?? assert.fail("there is no config");
}

const NAMED = v.object({ name: v.string() });
const PROBE = v.strictObject({
  httpGet: v.strictObject({ path: v.picklist(["/healthz", "/readyz"]), port: v.literal("admin") }),
  periodSeconds: v.number(),
  timeoutSeconds: v.optional(v.number()),
  failureThreshold: v.optional(v.number()),
});
const CONTAINER = v.strictObject({
  name: v.string(),
  image: v.string(),
  ports: v.array(v.strictObject({ name: v.string(), containerPort: v.number() })),
  startupProbe: PROBE,
  livenessProbe: PROBE,
  readinessProbe: PROBE,
  resources: v.strictObject({ requests: v.record(v.string(), v.string()), limits: v.record(v.string(), v.string()) }),
  securityContext: v.strictObject({
    allowPrivilegeEscalation: v.literal(false),
    readOnlyRootFilesystem: v.literal(true),
    capabilities: v.strictObject({ drop: v.array(v.string()) }),
  }),
  volumeMounts: v.array(
    v.strictObject({ name: v.string(), mountPath: v.string(), readOnly: v.optional(v.literal(true)) }),
  ),
});
/** https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/stateful-set-v1/ */
const STATEFUL_SET = v.strictObject({
  apiVersion: v.literal("apps/v1"),
  kind: v.literal("StatefulSet"),
  metadata: NAMED,
  spec: v.strictObject({
    serviceName: v.string(),
    replicas: v.literal(1),
    selector: v.strictObject({ matchLabels: v.record(v.string(), v.string()) }),
    template: v.strictObject({
      metadata: v.strictObject({ labels: v.record(v.string(), v.string()) }),
      spec: v.strictObject({
        terminationGracePeriodSeconds: v.number(),
        automountServiceAccountToken: v.boolean(),
        securityContext: v.looseObject({ runAsUser: v.number(), fsGroup: v.number() }),
        containers: v.tuple([CONTAINER]),
        volumes: v.array(v.looseObject({ name: v.string() })),
      }),
    }),
    volumeClaimTemplates: v.array(
      v.strictObject({
        metadata: NAMED,
        spec: v.strictObject({
          accessModes: v.array(v.literal("ReadWriteOnce")),
          resources: v.strictObject({ requests: v.strictObject({ storage: v.string() }) }),
        }),
      }),
    ),
  }),
});
const CONFIG_MAP = v.strictObject({
  apiVersion: v.literal("v1"),
  kind: v.literal("ConfigMap"),
  metadata: NAMED,
  data: v.strictObject({ "config.yaml": v.string() }),
});
const SERVICE = v.strictObject({
  apiVersion: v.literal("v1"),
  kind: v.literal("Service"),
  metadata: NAMED,
  spec: v.strictObject({
    selector: v.record(v.string(), v.string()),
    ports: v.array(v.strictObject({ name: v.string(), port: v.number(), targetPort: v.string() })),
  }),
});

describe("docs/recipes/kubernetes.md", () => {
  const [map, set, service] = v.parse(
    v.tuple([CONFIG_MAP, STATEFUL_SET, SERVICE]),
    blocksOf("kubernetes").map((text) => parse(text)),
  );
  const text = map.data["config.yaml"];
  const { template, serviceName, selector, volumeClaimTemplates } = set.spec;
  const [container] = template.spec.containers;
  const mounted = new Map(container.volumeMounts.map(({ name, mountPath }) => [name, mountPath]));

  it("has a config that the daemon accepts, with its parts where the pod has them", () => {
    const config = configOf(text, "/etc/fairlead");
    assert.deepEqual(config.ingest.listen, { kind: "tcp", host: "0.0.0.0", port: 8080 });
    assert.deepEqual(config.admin.listen, { kind: "tcp", host: "0.0.0.0", port: 8081 });
    assert.match(text, new RegExp(`path: ${mounted.get("outbox")}/`));
    assert.match(text, new RegExp(`\\$\\{file:${mounted.get("secrets")}/`));
    assert.equal(mounted.get("config"), "/etc/fairlead");
  });

  it("creates each secret that the config names", () => {
    const page = readFileSync(new URL("../../docs/recipes/kubernetes.md", import.meta.url), "utf8");
    const created = [...page.matchAll(/--from-literal=([\w-]+)=/g)].map(([, name]) => name);
    const named = [...text.matchAll(/\$\{file:[^}]*\/([^/}]+)\}/g)].map(([, name]) => name);
    assert.deepEqual(created.sort(), named.sort());
  });

  it("mounts the volumes that there are, and its service finds its pod and its ports", () => {
    const volumes = [...template.spec.volumes, ...volumeClaimTemplates.map(({ metadata }) => metadata)];
    assert.deepEqual([...mounted.keys()].sort(), volumes.map(({ name }) => name).sort());
    assert.deepEqual(service.spec.selector, template.metadata.labels);
    assert.deepEqual(selector.matchLabels, template.metadata.labels);
    assert.equal(service.metadata.name, serviceName);
    assert.deepEqual(
      service.spec.ports.map(({ port, targetPort }) => [targetPort, port]),
      container.ports.map(({ name, containerPort }) => [name, containerPort]),
    );
  });

  it("asks for what answers without a token", async () => {
    await using d = await startDaemon({ config: { admin: configOf(text, "/etc/fairlead").admin } });
    for (const probe of [container.startupProbe, container.livenessProbe, container.readinessProbe]) {
      assert.equal((await d.admin("GET", probe.httpGet.path)).status, 200);
    }
    assert.equal((await d.admin("GET", "/metrics")).status, 401);
  });
});

const AUTOMATION = {
  alias: v.string(),
  conditions: v.optional(v.array(v.strictObject({ condition: v.literal("template"), value_template: v.string() }))),
  actions: v.array(
    v.strictObject({
      action: v.pipe(v.string(), v.regex(/^\w+\.\w+$/)),
      target: v.optional(v.strictObject({ entity_id: v.string() })),
      data: v.looseObject({}),
    }),
  ),
};
const SENDING = v.strictObject({
  rest_command: v.strictObject({
    // https://www.home-assistant.io/integrations/rest_command/#configuration-variables
    fairlead_track: v.strictObject({
      url: v.literal("http://127.0.0.1:8080/v1/track"),
      method: v.picklist(["get", "patch", "post", "put", "delete"]),
      username: v.string(),
      content_type: v.string(),
      payload: v.string(),
    }),
  }),
  automation: v.tuple([
    v.strictObject({
      ...AUTOMATION,
      triggers: v.array(v.strictObject({ trigger: v.literal("state"), entity_id: v.string(), to: v.string() })),
    }),
  ]),
});
const RECEIVING = v.strictObject({
  automation: v.tuple([
    v.strictObject({
      ...AUTOMATION,
      // https://www.home-assistant.io/docs/automation/trigger/#webhook-trigger
      triggers: v.tuple([
        v.strictObject({
          trigger: v.literal("webhook"),
          webhook_id: v.string(),
          allowed_methods: v.array(v.picklist(["GET", "HEAD", "POST", "PUT"])),
          local_only: v.boolean(),
        }),
      ]),
    }),
  ]),
});

describe("docs/recipes/home-assistant.md", () => {
  const [own = "", sending = "", , receiving = ""] = blocksOf("home-assistant");

  it("sends what the daemon accepts, and the server gets it", async () => {
    const secret = { tag: "!secret", resolve: (name: string) => `the secret ${name}` };
    const document = parseDocument(sending, { customTags: [secret] });
    const { rest_command, automation } = v.parse(SENDING, document.toJS());
    const [{ actions }] = automation;
    assert.equal(actions[0]?.action, "rest_command.fairlead_track");
    const data = new Map(Object.entries(actions[0]?.data ?? {}));
    const payload = rest_command.fairlead_track.payload.replaceAll(/\{\{ (\w+) \| to_json \}\}/g, (_, name) =>
      JSON.stringify(data.get(name)),
    );
    const { sources, destinations } = configOf(own, "/etc/fairlead");
    await using d = await startDaemon({ config: { sources, destinations } });
    const key = sources.find(({ name }) => name === "house")?.writeKey.reveal() ?? "";
    const headers = { Authorization: `Basic ${btoa(`${key}:`)}` };
    assert.equal((await d.send("/v1/track", { method: "POST", body: payload, headers })).status, 200);
    await d.clock.rest();
    assert.deepEqual(
      d.sent.map(({ url }) => url),
      ["https://events.example.com/house"],
    );
    assert.match(d.sent[0]?.body ?? "", /"userId":"house","event":"Door Opened","properties":\{"door":"front"/);
  });

  it("receives by a webhook of the documented shape, at the path that Fairlead posts to", () => {
    const { automation } = v.parse(RECEIVING, parse(receiving));
    assert.deepEqual(automation[0].triggers[0].allowed_methods, ["POST"]);
    const { destinations } = configOf(own, "/etc/fairlead");
    const urls = destinations.find(({ name }) => name === "home-assistant")?.webhooks.map(({ url }) => url);
    assert.match(urls?.[0] ?? "", /^http:\/\/127\.0\.0\.1:8123\/api\/webhook\/secret-number-\d$/);
  });
});

for (const name of ["from-segment", "from-rudderstack"]) {
  describe(`docs/recipes/${name}.md`, () => {
    it("has a config that the daemon accepts", () => {
      const [text = ""] = blocksOf(name);
      assert.deepEqual(
        configOf(text, "/etc/fairlead").destinations.map((destination) => destination.name),
        ["crm"],
      );
    });
  });
}
