import { describe, expect, test } from 'vitest';
import { AttemptError } from '../../src/errors.ts';
import type { Transcript, TranscriptView } from '../../src/ports.ts';
import { isKnownImage } from '../../src/transcript/images.ts';
import type { AgentMessage } from '../../src/transcript/messages.ts';
import {
  IMAGE_PLACEHOLDER,
  itemKey,
  mirrorTranscriptBestEffort,
  promptKey,
  readMirroredSessionHistoryMessages,
} from '../../src/transcript/mirror.ts';
import { assistant, HEADER, ISO, opened, row, signal, tempSession, texts, user } from './transcript-kit.ts';

test('keys name the attempt or the item, never a position', () => {
  expect(promptKey('a-1')).toBe('codex-attempt:a-1:prompt');
  expect(itemKey('th', 'tu', 'it', 'toolCall')).toBe('codex-app-server:th:tu:it:toolCall');
});

describe('mirroring', () => {
  test('gives the rows as appended', async () => {
    const made = await opened(await tempSession(HEADER));
    const rows = [row('p', user('hi')), row('r', assistant('yo'))];
    const outcome = await mirrorTranscriptBestEffort({ transcript: made.transcript, rows, signal });
    expect(outcome).toMatchObject({ ok: true, appended: [{ created: true }, { created: true }] });
    expect(await texts(made)).toEqual(['hi', 'yo']);
  });

  test('never rejects: a failure is the outcome, its code kept where it has one', async () => {
    const failing = (error: unknown): Transcript => ({
      sessionFile: 'S',
      open: () => Promise.reject(error),
      read: () => Promise.reject(error),
      append: () => Promise.reject(error),
      close: () => Promise.resolve(),
    });
    const known = new AttemptError('session_write_failed', 'full');
    expect(await mirrorTranscriptBestEffort({ transcript: failing(known), rows: [] })).toEqual({
      ok: false,
      error: known,
    });
    for (const thrown of [new Error('boom'), 'boom', { message: 'boom' }]) {
      const outcome = await mirrorTranscriptBestEffort({ transcript: failing(thrown), rows: [] });
      expect(outcome).toMatchObject({
        ok: false,
        error: { code: 'mirror_failed', message: 'The turn could not be mirrored: boom', cause: thrown },
      });
    }
  });
});

describe('pictures in the history (BL-48)', () => {
  const png = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13]).toString('base64');
  const jpeg = Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 16]).toString('base64');
  const webp = Buffer.from('RIFF\u0001\u0002\u0003\u0004WEBPVP8 ', 'latin1').toString('base64');

  test.each([
    png,
    jpeg,
    webp,
    Buffer.from('GIF87a....').toString('base64'),
    Buffer.from('GIF89a....').toString('base64'),
  ])('a known type is kept: %s', (data) => {
    expect(isKnownImage(data)).toBe(true);
  });

  test.each([
    ['words', 'not base64'],
    ['a broken end', `${png}=`],
    ['a character that is none', `${png.slice(0, -4)}!!!!`],
    ['a data URL', `data:image/png;base64,${png}`],
    ['nothing', ''],
    ['another type', Buffer.from('%PDF-1.7 something').toString('base64')],
    ['a vector picture', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>').toString('base64')],
    ['a part of a signature', png.slice(0, 4)],
    ['RIFF without WEBP', Buffer.from('RIFF....WAVEfmt ').toString('base64')],
    ['no text', 7],
    ['a missing field', undefined],
  ])('all else is none: %s', (_name, data) => {
    expect(isKnownImage(data)).toBe(false);
  });

  test('a broken one becomes a text wherever it stands; sound ones and all other parts stay; the view is not changed', () => {
    const good = { type: 'image' as const, data: png, mimeType: 'image/png' };
    const bad = { type: 'image' as const, data: 'not base64', mimeType: 'image/png' };
    const text = { type: 'text' as const, text: 'look' };
    const messages: AgentMessage[] = [
      { role: 'user', content: [text, bad, good], timestamp: 1, idempotencyKey: 'k' },
      { role: 'toolResult', toolCallId: 'c', toolName: 't', content: [bad], isError: false, timestamp: 2 },
      { role: 'custom', content: [bad, 'odd', null], customType: 'x' },
      { role: 'user', content: 'data of no picture', timestamp: 3 },
      assistant('answer'),
    ];
    const view: TranscriptView = {
      entries: messages.map((message, position) => ({
        entryId: `${position}`,
        parentId: null,
        position,
        createdAt: ISO,
        message,
      })),
      leafId: '4',
    };
    const before = structuredClone(view);
    const placeholder = { type: 'text', text: IMAGE_PLACEHOLDER };
    expect(readMirroredSessionHistoryMessages(view)).toEqual([
      { role: 'user', content: [text, placeholder, good], timestamp: 1, idempotencyKey: 'k' },
      { role: 'toolResult', toolCallId: 'c', toolName: 't', content: [placeholder], isError: false, timestamp: 2 },
      { role: 'custom', content: [placeholder, 'odd', null], customType: 'x' },
      { role: 'user', content: 'data of no picture', timestamp: 3 },
      assistant('answer'),
    ]);
    expect(view).toEqual(before);
    expect(IMAGE_PLACEHOLDER).toBe('[image omitted: not a valid picture]');
  });
});
