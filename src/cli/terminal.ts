import type { OutputStream } from './io.ts';

/**
 * Text of a model or of a session for stdout. On a terminal what would steer it (escape sequences in an answer) is
 * shown as its code; lines and tabs stay. Data goes out as it is when it is not a terminal that reads it.
 */
export function shownOn(stream: OutputStream, text: string): string {
  if (stream.isTTY !== true) return text;
  return text.replaceAll(/(?![\n\t])\p{Cc}/gu, (control) => {
    return `\\x${control.charCodeAt(0).toString(16).padStart(2, '0')}`;
  });
}
