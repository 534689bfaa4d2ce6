import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished } from 'vitest';

/** A new folder that is removed when the test is over. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'codex-wire-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** An executable in `folder` that runs the fake app-server with this Node. */
export function fakeCodex(folder: string): string {
  const file = path.join(folder, 'codex');
  const script = fileURLToPath(new URL('./fake-app-server.mjs', import.meta.url));
  writeFileSync(file, `#!/bin/sh\nexec '${process.execPath}' '${script}' "$@"\n`);
  chmodSync(file, 0o755);
  return file;
}

/** Whether a process runs. One that has ended and was not collected by its parent does not. */
export function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  const stat = `/proc/${pid}/stat`;
  return !existsSync(stat) || !/^\d+ \(.*\) Z/.test(readFileSync(stat, 'utf8'));
}

/** Resolves when what another process does has come true; the test's time limit bounds it. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await wait(5);
}

/** Resolves when a process that is not ours to wait for is gone; the test's time limit bounds it. */
export async function untilGone(pid: number): Promise<void> {
  await until(() => !alive(pid));
}

/** The error that a promise rejects with, as JSON says it. */
export async function failure(promise: Promise<unknown>): Promise<{ code: string; message: string; data: unknown }> {
  const error = await promise.then(
    () => expect.fail('it did not fail'),
    (reason: unknown) => reason,
  );
  return JSON.parse(JSON.stringify(error));
}

/** Ids of the processes whose command line names `text`. */
export function processesNaming(text: string): number[] {
  const ids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return ids.map(Number).filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text) && alive(pid);
    } catch (error) {
      // Others end while we look.
      if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return false;
      throw error;
    }
  });
}
