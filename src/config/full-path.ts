import { dirname, isAbsolute, join } from "node:path";

/** A path as the config file `file` means it: a relative one starts at the folder of that file. */
export function fullPath(path: string, file: string): string {
  return isAbsolute(path) ? path : join(dirname(file), path);
}
