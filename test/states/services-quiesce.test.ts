import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setImmediate as macrotask } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { maintenanceLane } from '../../src/engine/background.ts';
import type { CompletionFunction } from '../../src/engine/contract.ts';
import { createServices, type OpenedServices } from '../../src/services.ts';
import { FakeClock } from '../wire/fakes/clock.ts';

/** A promise that the test settles. */
function deferred<T>() {
  let [resolve, reject]: [(value: T) => void, (error: Error) => void] = [() => undefined, () => undefined];
  const promise = new Promise<T>((onResolve, onReject) => {
    [resolve, reject] = [onResolve, onReject];
  });
  return { promise, resolve: (value: T) => resolve(value), reject: (error: Error) => reject(error) };
}

const ANSWER = { text: 't', provider: 'p', model: 'm' };

let folder: string;
let clock: FakeClock;
let opened: OpenedServices;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'codex-attempt-quiesce-'));
  clock = new FakeClock();
});
afterEach(async () => {
  await opened.close();
  await rm(folder, { recursive: true, force: true });
});

async function open(completion?: CompletionFunction): Promise<void> {
  opened = await createServices({
    cwd: folder,
    sessionFile: path.join(folder, 'chat.jsonl'),
    env: {},
    clock,
    ...(completion === undefined ? {} : { completion }),
  });
}

/** What it has come to so far; null: it still waits. */
async function sofar(waiting: Promise<boolean>): Promise<boolean | null> {
  let answer: boolean | null = null;
  waiting.then((value) => {
    answer = value;
  });
  await macrotask();
  return answer;
}

const lane = () => maintenanceLane(opened.services.session.transcript.sessionFile);
const complete = () => opened.services.completion?.({ messages: [] });

describe('quiesce', () => {
  it('of services without work is immediate, and none of the model stays none', async () => {
    await open();
    expect(opened.services).not.toHaveProperty('completion');
    expect(await opened.quiesce({ timeoutMs: 0 })).toBe(true);
    expect(clock.pending).toBe(0);
  });

  it('waits for the maintenance and then for the completions that it has begun', async () => {
    const [maintained, answered] = [deferred<void>(), deferred<typeof ANSWER>()];
    await open(() => answered.promise);
    let completed: unknown;
    lane().run(
      async () => {
        await maintained.promise;
        completed = complete();
      },
      () => undefined,
    );
    const waiting = opened.quiesce({ timeoutMs: 1_000 });
    clock.advance(400);
    expect(await sofar(waiting)).toBeNull();
    maintained.resolve();
    expect(await sofar(waiting)).toBeNull();
    clock.advance(500);
    expect(await sofar(waiting)).toBeNull();
    answered.resolve(ANSWER);
    expect(await completed).toEqual(ANSWER);
    clock.advance(49);
    expect(await sofar(waiting)).toBeNull();
    clock.advance(1);
    expect(await sofar(waiting)).toBe(true);
    expect(clock.pending).toBe(0);
  });

  it('a completion that fails is over too', async () => {
    const answered = deferred<typeof ANSWER>();
    await open(() => answered.promise);
    const completed = complete();
    const waiting = opened.quiesce({ timeoutMs: 1_000 });
    answered.reject(new Error('no model'));
    await expect(completed).rejects.toThrow('no model');
    clock.advance(50);
    expect(await sofar(waiting)).toBe(true);
  });

  it('is given up when the time runs out during the maintenance', async () => {
    const maintained = deferred<void>();
    await open();
    lane().run(
      () => maintained.promise,
      () => undefined,
    );
    const waiting = opened.quiesce({ timeoutMs: 1_000 });
    clock.advance(999);
    expect(await sofar(waiting)).toBeNull();
    clock.advance(1);
    expect(await sofar(waiting)).toBe(false);
    maintained.resolve();
    await lane().idle(1_000, clock);
  });

  it('both together have the one time', async () => {
    const maintained = deferred<void>();
    await open(() => new Promise(() => undefined));
    void complete();
    lane().run(
      () => maintained.promise,
      () => undefined,
    );
    const waiting = opened.quiesce({ timeoutMs: 1_000 });
    clock.advance(900);
    maintained.resolve();
    expect(await sofar(waiting)).toBeNull();
    clock.advance(99);
    expect(await sofar(waiting)).toBeNull();
    clock.advance(1);
    expect(await sofar(waiting)).toBe(false);
    expect(clock.pending).toBe(0);
  });
});
