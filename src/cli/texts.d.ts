/** Texts embedded by `import … with { type: "text" }`. Bun's own types cover .yaml and .txt. */
declare module "*.md" {
  const text: string;
  export default text;
}
