/**
 * Makes the container images of a release, and SHA256SUMS beside them: OCI archives, which `docker load` and `podman load` read too.
 *
 * Usage: bun packaging/image.ts <folder> [<architecture>…], by make, which sets COMPILE and SOURCE_DATE_EPOCH
 */
import { createHash } from "node:crypto";
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import process from "node:process";
import { compileFor } from "./compile.ts";
import { unpackBase } from "./debian-base.ts";
import { releasedAt, VERSION, writtenDocuments } from "./documents.ts";
import { run } from "./run.ts";
import { architecturesNamed, type Target } from "./targets.ts";
import { writeSums, writeTree } from "./tree.ts";

/** By which the archive is known to an engine that loads it. The workflow of a release pushes it there. */
export const NAME = `ghcr.io/fairlead/fairlead:${VERSION}`;

const USER = 65_532;
const SECOND = 1_000_000_000;

/** What an engine must know about the image. It has no shell. */
export const CONFIG = {
  User: `${USER}:${USER}`,
  Env: [
    "PATH=/usr/bin",
    "FAIRLEAD_CONFIG=/etc/fairlead/config.yaml",
    // For temporary files. A read-only container needs a tmpfs here for large audience lists, and none for SQLite.
    "TMPDIR=/tmp",
  ],
  Entrypoint: ["/usr/bin/fairlead"],
  Cmd: ["serve"],
  Volumes: { "/var/lib/fairlead": {} },
  ExposedPorts: { "8080/tcp": {} },
  WorkingDir: "/",
  // Whether the daemon answers, by the config's admin.listen. It is healthy while receivers are down, and while its disk is full: a
  // restart would help neither.
  Healthcheck: {
    Test: ["CMD", "/usr/bin/fairlead", "status"],
    Interval: 30 * SECOND,
    Timeout: 10 * SECOND,
    StartPeriod: 15 * SECOND,
  },
};

if (import.meta.main) {
  const [folder = "dist", ...names] = process.argv.slice(2);
  for (const target of architecturesNamed(names)) console.log(makeImage(target, resolve(folder)));
  writeSums(folder, VERSION);
}

/** Answers the path of the archive. `given`: a program to be packed instead of one that is compiled now. */
export function makeImage(target: Target, folder: string, given?: string): string {
  const { debian = "" } = target;
  const work = join(folder, `work-image-${debian}`);
  const blobs = join(work, "image/blobs/sha256");
  mkdirSync(blobs, { recursive: true });
  try {
    const binary = given ?? join(work, "fairlead");
    if (given === undefined) compileFor(target, binary);
    const base = makeBase(debian, join(work, "base"));
    writeProgram(binary, join(work, "program"));
    const layers = [
      { ...addLayer(join(work, "base"), [], blobs), made: `from Debian: ${base.join(", ")}` },
      { ...addLayer(join(work, "program"), ["var/lib/fairlead"], blobs), made: `Fairlead ${VERSION}` },
    ];
    writeIndex(debian, layers, join(work, "image"));
    const archive = join(folder, `fairlead-${VERSION}-image-${debian}.tar`);
    pack(join(work, "image"), ["."], archive);
    return archive;
  } finally {
    rmSync(work, { recursive: true });
  }
}

/** Answers what is in it of Debian. */
function makeBase(architecture: string, root: string): readonly string[] {
  mkdirSync(root, { recursive: true });
  const versions = unpackBase(architecture, root);
  const [passwd, group] = [`fairlead:x:${USER}:${USER}::/var/lib/fairlead:/sbin/nologin`, `fairlead:x:${USER}:`];
  writeFileSync(join(root, "etc/passwd"), `root:x:0:0:root:/root:/sbin/nologin\n${passwd}\n`);
  writeFileSync(join(root, "etc/group"), `root:x:0:\n${group}\n`);
  writeFileSync(join(root, "etc/nsswitch.conf"), "passwd: files\ngroup: files\nhosts: files dns\n");
  mkdirSync(join(root, "tmp"));
  // mkdir heeds the umask.
  chmodSync(join(root, "tmp"), 0o1777);
  for (const path of ["etc/passwd", "etc/group", "etc/nsswitch.conf"]) chmodSync(join(root, path), 0o644);
  for (const path of ["", "etc", "var", "var/lib", "var/lib/dpkg"]) chmodSync(join(root, path), 0o755);
  return versions;
}

function writeProgram(binary: string, root: string): void {
  writeTree(root, [
    ["usr/bin/fairlead", { copy: binary }, 0o755],
    ["usr/share/doc/fairlead/LICENSE", { copy: "LICENSE" }],
    ["usr/share/doc/fairlead/THIRD-PARTY-NOTICES.txt", { text: writtenDocuments().notices }],
    // Only so that the folders are there: a new volume takes over their owner and mode.
    ["etc/fairlead/.keep", { text: "" }],
    ["var/lib/fairlead/.keep", { text: "" }],
  ]);
  for (const path of ["etc/fairlead", "var/lib/fairlead"]) rmSync(join(root, path, ".keep"));
  chmodSync(join(root, "var/lib/fairlead"), 0o700);
}

type Blob = { readonly digest: string; readonly size: number };
type Layer = Blob & { readonly diffId: string; readonly made: string };

/** Adds a folder as a layer. `owned`: what belongs to the image's user and not to root. */
function addLayer(root: string, owned: readonly string[], blobs: string): Blob & { readonly diffId: string } {
  const file = join(blobs, "layer.tar");
  const places = owned.map((path) => `./${path}`);
  pack(root, [...places.map((path) => `--exclude=${path}`), "."], file);
  if (owned.length > 0) pack(root, places, file, { mode: "-rf", owner: USER });
  const diffId = `sha256:${sha256(readFileSync(file))}`;
  run("gzip", ["--no-name", file]);
  const bytes = readFileSync(`${file}.gz`);
  const digest = sha256(bytes);
  renameSync(`${file}.gz`, join(blobs, digest));
  return { digest: `sha256:${digest}`, size: bytes.length, diffId };
}

/** The config, the manifest and the index, as the OCI's image format has them, and the manifest that older engines read. */
function writeIndex(architecture: string, layers: readonly Layer[], folder: string): void {
  const created = new Date(releasedAt() * 1_000).toISOString().replace(".000Z", "Z");
  const labels = {
    "org.opencontainers.image.title": "Fairlead",
    "org.opencontainers.image.version": VERSION,
    "org.opencontainers.image.licenses": "MIT",
    "org.opencontainers.image.source": "https://github.com/fairlead/fairlead",
  };
  const add = (value: object): Blob => {
    const bytes = Buffer.from(JSON.stringify(value));
    const digest = sha256(bytes);
    writeFileSync(join(folder, "blobs/sha256", digest), bytes);
    return { digest: `sha256:${digest}`, size: bytes.length };
  };
  const config = add({
    created,
    ...{ architecture, os: "linux", config: { ...CONFIG, Labels: labels } },
    rootfs: { type: "layers", diff_ids: layers.map(({ diffId }) => diffId) },
    history: layers.map(({ made }) => ({ created, created_by: made })),
  });
  const oci = "application/vnd.oci.image";
  const manifest = add({
    ...{ schemaVersion: 2, mediaType: `${oci}.manifest.v1+json` },
    config: { mediaType: `${oci}.config.v1+json`, ...config },
    layers: layers.map(({ digest, size }) => ({ mediaType: `${oci}.layer.v1.tar+gzip`, digest, size })),
  });
  const annotations = { "io.containerd.image.name": NAME, "org.opencontainers.image.ref.name": VERSION };
  const platform = { architecture, os: "linux" };
  const index = [{ mediaType: `${oci}.manifest.v1+json`, ...manifest, annotations, platform }];
  const path = ({ digest }: Blob): string => `blobs/${digest.replace(":", "/")}`;
  const old = [{ Config: path(config), RepoTags: [NAME], Layers: layers.map(path) }];
  for (const [name, value] of [
    ["oci-layout", { imageLayoutVersion: "1.0.0" }],
    ["index.json", { schemaVersion: 2, mediaType: `${oci}.index.v1+json`, manifests: index }],
    ["manifest.json", old],
  ] as const) {
    writeFileSync(join(folder, name), JSON.stringify(value));
  }
}

/** The same bytes whenever it is made, and by whomever. `-rf` appends. */
function pack(folder: string, paths: readonly string[], archive: string, { mode = "-cf", owner = 0 } = {}): void {
  const owners = [`--owner=${owner}`, `--group=${owner}`, "--numeric-owner"];
  const order = ["--sort=name", `--mtime=@${releasedAt()}`, "--format=gnu"];
  run("tar", [...owners, ...order, mode, archive, "-C", folder, ...paths]);
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
