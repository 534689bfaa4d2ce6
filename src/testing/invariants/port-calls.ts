import type { AgentMessage } from '../../transcript/messages.ts';
import type { ControlledCall } from '../controlled/script.ts';
import type { DirectedRun } from '../director/execute.ts';
import { DIRECTED_PROMPT } from '../director/scene.ts';
import { stepsTaken, visits } from './invariant.ts';

/** A sentence of the specification about what an attempt does to its ports, and what it comes to. */
export interface PortInvariant {
  spec: string;
  says: string;
  holds(run: DirectedRun): boolean;
}

export type Fields = Readonly<Record<string, unknown>>;

export const fields = (value: unknown): Fields =>
  typeof value === 'object' && value !== null ? (value as Fields) : {};
export const named = (run: DirectedRun, ...names: string[]): ControlledCall[] =>
  run.calls.filter(({ name }) => names.includes(name));
export const indexOf = (run: DirectedRun, ...names: string[]): number =>
  run.calls.findIndex(({ name }) => names.includes(name));
export const took = (run: DirectedRun, ...labels: string[]): boolean =>
  stepsTaken(run).some(({ label }) => labels.includes(label));
export const turned = (run: DirectedRun): boolean => visits(run).includes('turning');
export const textOf = (content: unknown): string =>
  (Array.isArray(content) ? content : []).map((part) => String(fields(part)['text'] ?? '')).join('');
/** `a` before `b` whenever both are there. */
export const before = (a: number, b: number): boolean => a === -1 || b === -1 || a < b;

export const FINALIZERS = ['commitTurn', 'afterTurn', 'ingestBatch', 'ingest'] as const;
export const finalizers = (run: DirectedRun): ControlledCall[] =>
  named(run, ...FINALIZERS.map((method) => `engine.${method}`));
export const hookEvent = ({ params }: ControlledCall): Fields => fields(fields(params)['event']);
export const inputText = (call: ControlledCall | undefined): string => textOf(fields(call?.params)['input']);
export const isPrompt = (message: AgentMessage | undefined): boolean =>
  message?.role === 'user' && textOf(message.content) === DIRECTED_PROMPT;

/** The messages that an engine was given for the turn itself, whatever its finalizer; null: none was called. */
export function turnMessages(run: DirectedRun): AgentMessage[] | null {
  const calls = finalizers(run);
  const [first] = calls;
  if (first === undefined) return null;
  const { messages, prePromptMessageCount, message } = fields(first.params);
  if (message !== undefined) return calls.map(({ params }) => fields(params)['message'] as AgentMessage);
  return (messages as AgentMessage[]).slice(typeof prePromptMessageCount === 'number' ? prePromptMessageCount : 0);
}
