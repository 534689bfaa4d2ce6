/**
 * The mirror: what of a turn goes into the host's transcript, and how the history comes out of it (spec 6).
 */
import { AttemptError, messageOf } from '../errors.ts';
import type { AppendedRow, Transcript, TranscriptRow, TranscriptView } from '../ports.ts';
import { isKnownImage } from './images.ts';
import type { AgentMessage, TextPart } from './messages.ts';
import { isObject } from './session-line.ts';

export { itemKey, promptKey } from './keys.ts';

export type MirrorOutcome = { ok: true; appended: readonly AppendedRow[] } | { ok: false; error: AttemptError };

export interface MirrorParams {
  transcript: Transcript;
  rows: readonly TranscriptRow[];
  signal?: AbortSignal;
}

/** Appends the rows of a turn. Never rejects: a failure is the outcome, and the turn goes on with what it has (spec M1). */
export async function mirrorTranscriptBestEffort({ transcript, rows, signal }: MirrorParams): Promise<MirrorOutcome> {
  try {
    return { ok: true, appended: await transcript.append(rows, signal) };
  } catch (error) {
    if (error instanceof AttemptError) return { ok: false, error };
    const message = `The turn could not be mirrored: ${messageOf(error)}`;
    return { ok: false, error: new AttemptError('mirror_failed', message, { cause: error }) };
  }
}

/** Stands where a broken picture was. */
export const IMAGE_PLACEHOLDER = '[image omitted: not a valid picture]';

/**
 * The messages of a view as history for engines and projection. A picture that no model could read (broken base64,
 * unknown type) becomes a text, because one such part makes every later turn fail (BL-48). The view stays as it is.
 */
export function readMirroredSessionHistoryMessages(view: TranscriptView): AgentMessage[] {
  return view.entries.map(({ message }) => withSoundImages(message));
}

function withSoundImages(message: AgentMessage): AgentMessage {
  const { content } = message;
  if (!Array.isArray(content) || !content.some(isBrokenImage)) return message;
  const placeholder: TextPart = { type: 'text', text: IMAGE_PLACEHOLDER };
  return Object.assign({}, message, {
    content: content.map((part: unknown) => (isBrokenImage(part) ? { ...placeholder } : part)),
  });
}

function isBrokenImage(part: unknown): boolean {
  return isObject(part) && part['type'] === 'image' && !isKnownImage(part['data']);
}
