import { CONFORM_DEFAULTS, conformEngine } from '../conform/conform.ts';
import { type ConformReport, reportText, type Verdict } from '../conform/report.ts';
import { CONFORM_FLAGS } from './command-flags.ts';
import { readEngineConfig } from './config.ts';
import { EXIT, type ExitCode } from './exit.ts';
import { parseFlags, usageError } from './flags.ts';
import { type GuardedIo, writeOut } from './io.ts';
import { forPeople, painter } from './progress.ts';
import type { StopSignals } from './signals.ts';
import { readTimeout } from './values.ts';

const COLOURS = { held: 'green', broken: 'red', 'not-exercised': 'dim' } as const satisfies Record<Verdict, string>;

/** `codex-attempt conform`: which clauses of its contract an engine holds. 1 when one is broken; a signal stops it. */
export async function conform(argv: readonly string[], io: GuardedIo, signals: StopSignals): Promise<ExitCode> {
  const { flags, words } = parseFlags(argv, CONFORM_FLAGS, 'conform');
  const [spec, unexpected] = words;
  if (spec === undefined) throw usageError('which engine? Name one: PATH_OR_PACKAGE[#ID], or example', 'conform');
  if (unexpected !== undefined) throw usageError(`unexpected argument ${JSON.stringify(unexpected)}`, 'conform');
  const given = flags['engine-config'];
  const timeoutMs = flags.timeout === undefined ? CONFORM_DEFAULTS.timeoutMs : readTimeout(flags.timeout, '--timeout');
  if (timeoutMs === 0) throw usageError('--timeout 0 would wait for a call without end', 'conform');
  const limitMs = flags.limit === undefined ? CONFORM_DEFAULTS.limitMs : readTimeout(flags.limit, '--limit');
  const stop = new AbortController();
  signals(() => stop.abort());
  const report = await conformEngine({
    spec,
    cwd: io.cwd,
    ...(given === undefined ? {} : { config: await readEngineConfig(given, io.cwd) }),
    env: io.env,
    timeoutMs,
    limitMs: limitMs === 0 ? Number.MAX_SAFE_INTEGER : limitMs,
    print: (text) => void io.stderr.write(text),
    signal: AbortSignal.any([stop.signal, io.guard.signal]),
  });
  await writeOut(io.stdout, flags.json === true ? `${JSON.stringify(report)}\n` : shownText(report, io));
  return report.ok ? EXIT.ok : EXIT.failed;
}

function shownText(report: ConformReport, io: GuardedIo): string {
  const paint = painter(io.stdout, io.env);
  return reportText(report, { mark: (verdict, text) => paint(COLOURS[verdict], text), clean: forPeople });
}
