// Answers as https://github.com would: the files of a folder, as those of a release. Run by fresh-machine.ts.
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:https";
import { basename, join } from "node:path";
import process from "node:process";

const RELEASES = /^\/fairlead\/fairlead\/releases\/(?:download\/v[\d.]+|latest\/download)\/([\w.+-]+)$/;

const [certificate = "", folder = ""] = process.argv.slice(2);
const pem = readFileSync(certificate, "utf8");
createServer({ key: pem, cert: pem }, (request, response) => {
  const [, name = ""] = RELEASES.exec(request.url ?? "") ?? [];
  const file = join(folder, basename(name));
  const isThere = name !== "" && existsSync(file);
  console.log(`${isThere ? 200 : 404} ${request.url}`);
  response.writeHead(isThere ? 200 : 404).end(isThere ? readFileSync(file) : "");
}).listen(443, "127.0.0.1", () => console.log("answering"));
