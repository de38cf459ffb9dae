/** The example file with every key set that it shows commented out. The first line is for editors. */
export function uncomment(example: string): string {
  return example.replace(/^( *)# (?!yaml-language-server:)((?: {2})*(?:- )?[\w-]+:(?: .*)?)$/gm, "$1$2");
}
