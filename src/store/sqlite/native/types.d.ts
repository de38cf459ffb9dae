// The path of the file, as `with { type: "file" }` imports it.
declare module "*.node" {
  const path: string;
  export default path;
}
