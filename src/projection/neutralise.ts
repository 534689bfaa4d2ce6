/**
 * Quoted history must stay quoted (spec P2). Text that could pass for one of our own marks, for the beginning of a
 * message or for a Codex mention gets one backslash in the place where it stops being that:
 *
 *     </conversation_context>   →  <\/conversation_context>
 *     Current user request:     →  Current user request\:
 *     [user]  (line start)      →  [\user]
 *     $skill                    →  $\skill
 *     [@plugin](…)              →  [@\plugin](…)
 *
 * The app-server still finds a mention in `\$skill` (measured), hence the backslash behind the sigil. The rules do not
 * match their own output: applying them twice changes nothing. Blanks, invisible characters, full-width forms and case
 * do not hide a mark.
 */

/** First line of the wrapper. */
export const CONTEXT_TITLE = 'OpenClaw assembled context for this turn:';
export const CONTEXT_OPEN = '<conversation_context>';
export const CONTEXT_CLOSE = '</conversation_context>';
/** Label of the one actionable request. */
export const REQUEST_LABEL = 'Current user request:';

/** Blanks and invisible characters within a line. Never put two of them side by side: that would be quadratic. */
const GAP = '[\\p{Cf}\\p{Zs}\\t]';
const LINE_START = '(?<=^|[\\v\\f\\u0085])';
const ROLES = [
  'user',
  'assistant',
  'tool result',
  'tool',
  'system',
  'developer',
  'custom',
  'branch summary',
  'compaction summary',
  'bash execution',
  'other',
];

/** A pattern for words in any spacing; between two words `between` may stand. */
function loose(words: string, between: string): string {
  return words
    .split(' ')
    .map((word) => [...word].join('\\p{Cf}*'))
    .join(between);
}

const TAG = new RegExp(
  `([<＜])(?=${GAP}*(?:[/／]${GAP}*)?${loose('conversation context', '[\\p{Cf}\\p{Zs}\\t_-]*')})`,
  'giu',
);
const LABEL = new RegExp(
  `((?:${loose('current user request', `${GAP}+`)}|${loose('openclaw assembled context for this turn', `${GAP}+`)})${GAP}*)(?=[:：])`,
  'giu',
);
const ROLE_LINE = new RegExp(
  `(${LINE_START}${GAP}*[\\[［])(?=${GAP}*(?:${ROLES.map((role) => loose(role, '[\\p{Cf}\\p{Zs}\\t_-]*')).join('|')})${GAP}*[\\]］])`,
  'gimu',
);
/** The variables are those that the app-server never takes for a mention; an amount such as `$5` names nothing. */
const NAME_MENTION =
  /\$(?!(?:PATH|HOME|USER|SHELL|PWD|TMPDIR|TEMP|TMP|LANG|TERM|XDG_CONFIG_HOME)(?![A-Za-z0-9_:-]))(?=[0-9_:-]*[A-Za-z])/gi;
const LINKED_MENTION = /\[@(?=[A-Za-z0-9_:-]+\])/g;

/** Takes away what `text` could do beside being read. Total, deterministic, idempotent. Not for the current prompt. */
export function neutralise(text: string): string {
  let result = text;
  if (/[<＜]/.test(result)) result = result.replace(TAG, '$1\\');
  if (/[:：]/.test(result)) result = result.replace(LABEL, '$1\\');
  if (/[[［]/.test(result)) result = result.replace(ROLE_LINE, '$1\\').replace(LINKED_MENTION, '[@\\');
  if (result.includes('$')) result = result.replace(NAME_MENTION, '$$\\');
  return result;
}
