/**
 * Who a process is: its number alone is used again after its end, its number and start time are not.
 */
import { readFileSync } from 'node:fs';
import { errorCode } from './fs.ts';

/** Field of `/proc/<pid>/stat` that holds the start time, counted from the one behind the name. */
const START_TIME_FIELD = 19;

/** The start time of a process in clock ticks since boot, or null where the system does not tell (not Linux, no such process). */
export function processStartTime(pid: number): string | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name stands in parentheses and may hold spaces and parentheses of its own.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return fields[START_TIME_FIELD] ?? null;
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return null;
  }
}

/** Whether the process `pid` that started at `startTime` (null: not known) is gone. */
export function isProcessGone(pid: number, startTime: string | null): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: it lives and belongs to somebody else.
    if (errorCode(error) === 'ESRCH') return true;
  }
  const current = startTime === null ? null : processStartTime(pid);
  return current !== null && current !== startTime;
}
