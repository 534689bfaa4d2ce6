/** Who says a marked text. */
export type Speaker = 'user' | 'answer' | 'tool' | 'partial';

/** A word that stands in one text of one session and nowhere else: `[s12.t3.user]`. */
export function mark(session: string, turn: number | string, speaker: Speaker): string {
  return `[${session}.t${turn}.${speaker}]`;
}

/** All text of a value: every string in it, keys left out. */
export function textsOf(value: unknown, depth = 0): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null || depth > 50) return [];
  return Object.values(value).flatMap((member) => textsOf(member, depth + 1));
}

/** In how many texts a word stands, each occurrence counted. */
export function occurrences(texts: readonly string[], word: string): number {
  return texts.reduce((sum, text) => sum + text.split(word).length - 1, 0);
}
