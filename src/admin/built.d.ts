/** What `make build` makes of src/dashboard. It need not be there for the types to be checked. */
declare module "*/dist/dashboard.js" {
  export const page: import("./dashboard.ts").BuiltPage;
}
