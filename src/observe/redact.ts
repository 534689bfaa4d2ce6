/**
 * The one redactor: takes secrets out of text that people and files get to see (error text of engines, hooks and tools,
 * log, trace, `--json`). Linear in the length of the text and idempotent; what is no secret stays byte for byte.
 */

import { isSecretName } from './secret-names.ts';

/** Stands where a secret stood. */
export const REDACTED = '[redacted]';

/** Row keys (`codex-app-server:…`, `codex-attempt:…`) are never touched: a changed key is a lost or doubled row. */
const ROW_KEY = /(codex-(?:app-server|attempt)(?::[\w.-]+){2,}(?![\w.=-]))/;

const PEM_BEGIN = /-----BEGIN [A-Z0-9 ]{1,64}-----/g;
const PEM_END = /-----END [A-Z0-9 ]{1,64}-----/g;
/** PEM blocks whose end was cut off; the backslash is for `\n` as in JSON strings. */
const PEM_CUT = /-----BEGIN [A-Z0-9 ]{1,64}-----[A-Za-z0-9+/=\s\\]*/g;

/** `scheme://user:password@` and `scheme://token@`. */
const URL_CREDENTIALS = /:\/\/[^\s/?#"'<>]*@/g;

const BEARER = /(?<![A-Za-z0-9])(bearer[ \t]+)([A-Za-z0-9._~+/-]{6,}=*)/gi;
/** Words that follow "bearer" in plain sentences. */
const BEARER_PROSE = new Set(['token', 'tokens', 'authentication', 'authorization', 'credential', 'credentials']);
/** Base64 with a digit or padding, so that "Basic authentication" is no match. */
const BASIC = /(?<![A-Za-z0-9])(basic[ \t]+)(?=[A-Za-z+/]*[0-9=])[A-Za-z0-9+/]{6,}=*/gi;

/** Tokens that are known by their shape. None can run far and then fail, which keeps the search linear. */
const TOKEN_SHAPES = new RegExp(
  `(?<![A-Za-z0-9])(?:${[
    'sk-[A-Za-z0-9_-]{6,}',
    '(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{8,}',
    'gh[pousr]_[A-Za-z0-9]{16,}',
    'github_pat_[A-Za-z0-9_]{16,}',
    'glpat-[A-Za-z0-9_-]{16,}',
    'xox[a-z]-[A-Za-z0-9-]{8,}',
    'xapp-[A-Za-z0-9-]{8,}',
    '(?:AKIA|ASIA)[A-Z0-9]{16,}',
    'AIza[A-Za-z0-9_-]{30,}',
    'ya29\\.[A-Za-z0-9_-]{16,}',
    'npm_[A-Za-z0-9]{16,}',
    'hf_[A-Za-z0-9]{16,}',
  ].join('|')})`,
  'g',
);

/** A JSON Web Token. Begins only at the begin of a word: a long word without dots is scanned once. */
const JWT = /(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?/g;

/** A name and the sign after it: `KEY=`, `api_key: `, `"apiKey": `, `\"apiKey\":`. */
const ASSIGNMENT = /(?<![\w.-])([\w.-]+)(?:\\?["'])?[ \t]{0,8}(=>|:=|[:=])[ \t]{0,8}/g;

/** Quoted (the end may be cut off), quoted inside a JSON string, or one word, with the scheme of an Authorization. */
const VALUE =
  /(\\")(?:[^\\"\n]|\\[^"\n])+(\\")?|(["'`])(?:(?!\3)[^\\\n]|\\.)+(\3)?|(?:(?:bearer|basic|digest|token)[ \t]+)?(?:\[redacted\]|[^\s,;&"'`(){}[\]<>\\])+/iy;

/** Replaces every secret in `text` by `[redacted]`; names of keys stay. Total. */
export function redact(text: string): string {
  // The split leaves the row keys at the odd places.
  return text
    .split(ROW_KEY)
    .map((part, index) => (index % 2 === 1 ? part : redactPart(part)))
    .join('');
}

function redactPart(part: string): string {
  const known = redactPem(part)
    .replace(URL_CREDENTIALS, `://${REDACTED}@`)
    .replace(BEARER, (match: string, scheme: string, value: string) =>
      BEARER_PROSE.has(value.toLowerCase()) ? match : scheme + REDACTED,
    )
    .replace(BASIC, `$1${REDACTED}`)
    .replace(TOKEN_SHAPES, REDACTED)
    .replace(JWT, REDACTED);
  return redactAssignments(known);
}

function redactPem(text: string): string {
  let result = '';
  let from = 0;
  PEM_BEGIN.lastIndex = 0;
  for (let begin = PEM_BEGIN.exec(text); begin !== null; begin = PEM_BEGIN.exec(text)) {
    PEM_END.lastIndex = PEM_BEGIN.lastIndex;
    // Without an end there is none for later blocks either: it is not looked for again and again.
    if (PEM_END.exec(text) === null) break;
    result += text.slice(from, begin.index) + REDACTED;
    from = PEM_END.lastIndex;
    PEM_BEGIN.lastIndex = from;
  }
  return result + text.slice(from).replace(PEM_CUT, REDACTED);
}

function redactAssignments(text: string): string {
  let result = '';
  let from = 0;
  ASSIGNMENT.lastIndex = 0;
  for (let found = ASSIGNMENT.exec(text); found !== null; found = ASSIGNMENT.exec(text)) {
    if (!isSecretName(found[1] ?? '', found[2] ?? '')) continue;
    const start = ASSIGNMENT.lastIndex;
    VALUE.lastIndex = start;
    const value = VALUE.exec(text);
    if (value === null) continue;
    const open = value[1] ?? value[3] ?? '';
    const close = value[2] ?? value[4] ?? '';
    result += text.slice(from, start) + open + REDACTED + close;
    from = VALUE.lastIndex;
    ASSIGNMENT.lastIndex = from;
  }
  return result + text.slice(from);
}
