import type { AttemptResult, AttemptRunEvent } from '../attempt/types.ts';
import type { CodexEventItem } from '../codex/events.ts';
import type { Progress } from './progress.ts';

/** What of an event a person is told on stderr. `isNewSession`: its path is told. */
export function tell(
  event: Exclude<AttemptRunEvent, AttemptResult>,
  isNewSession: boolean,
  progress: Pick<Progress, 'state' | 'tokens' | 'note' | 'warn'>,
): void {
  switch (event.type) {
    case 'attempt.started':
      if (isNewSession) progress.note(`session: ${event.sessionFile}`);
      return;
    case 'attempt.state':
      progress.state(event.state);
      return;
    case 'attempt.notice':
      progress.warn(event.message);
      return;
    case 'attempt.degraded':
      progress.warn(`${event.state}: ${event.message} (${event.code})`);
      return;
    case 'turn.completed':
      if (event.usage !== null) progress.tokens(event.usage.input_tokens + event.usage.output_tokens);
      return;
    case 'item.completed':
      tellFailedTool(event.item, progress);
      return;
    case 'error':
      if (event.will_retry) progress.warn(`Codex tries again: ${event.message}`);
      return;
    default:
      return;
  }
}

/** The arguments stay out: they are text of the model. */
function tellFailedTool(item: CodexEventItem, progress: Pick<Progress, 'warn'>): void {
  if (item.type !== 'dynamic_tool_call' || item['success'] !== false) return;
  const namespace = typeof item['namespace'] === 'string' ? `${item['namespace']}.` : '';
  progress.warn(`the tool ${namespace}${String(item['tool'])} failed; the model was told why`);
}

/** Says on stderr why it did not end well. `isFaultTold`: its error has been said. */
export function explain(result: AttemptResult, isFaultTold: boolean, progress: Progress): void {
  if (result.deniedApprovals.length > 0) {
    progress.warn(`denied, because nobody was there to approve: ${result.deniedApprovals.join(', ')} (see --sandbox)`);
  }
  if (result.error !== undefined) {
    const hint = result.error.code === 'budget_execution' ? '; --timeout sets it' : '';
    if (!isFaultTold) progress.error(`${result.error.message}${hint} (${result.error.code})`);
  } else if (result.outcome === 'aborted') {
    progress.note(result.text === '' ? 'aborted' : 'aborted; the answer is partial');
  }
}
