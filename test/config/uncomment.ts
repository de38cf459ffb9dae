/** The example file with every key set that it shows commented out. */
export function uncomment(example: string): string {
  return example.replace(/^( *)# ((?: {2})*(?:- )?[\w-]+:(?: .*)?)$/gm, "$1$2");
}
