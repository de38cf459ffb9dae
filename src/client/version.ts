/** Of the library, the same as Fairlead's. Not read from package.json: Node 20 warns of every import of JSON. */
export const VERSION = "0.1.0";

export const LIBRARY = { name: "fairlead-client", version: VERSION } as const;
