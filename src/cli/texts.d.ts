/** Texts that are embedded by `import … with { type: "text" }`. Bun's own types know of .yaml and .txt. */
declare module "*.md" {
  const text: string;
  export default text;
}
