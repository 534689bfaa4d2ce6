/**
 * The text with its middle left out when it is longer than `max` UTF-16 units: the beginning and the end say most about
 * an output. A note between them says how much is missing; it comes on top of `max`. Never splits a surrogate pair.
 */
export function capText(text: string, max: number): string {
  if (text.length <= max) return text;
  const half = Math.floor(max / 2);
  const head = text.slice(0, isHighSurrogate(text, half - 1) ? half - 1 : half);
  const from = text.length - half;
  const tail = text.slice(isHighSurrogate(text, from - 1) ? from + 1 : from);
  return `${head}\n[… ${text.length - head.length - tail.length} characters left out …]\n${tail}`;
}

function isHighSurrogate(text: string, index: number): boolean {
  const unit = text.charCodeAt(index);
  return unit >= 0xd800 && unit <= 0xdbff;
}
