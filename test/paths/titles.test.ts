import { describe, expect, it } from 'vitest';
import { coveringPaths, exploreAll, type Path } from '../../src/testing/paths/generate.ts';
import { done, type MachineSuite } from '../../src/testing/paths/suite.ts';
import { outcomeOf, pathTitles, wordsFor } from '../../src/testing/paths/titles.ts';
import { attemptSuite } from '../../src/testing/suites/attempt.ts';
import { compactionSuite } from '../../src/testing/suites/compaction.ts';
import { suites } from '../../src/testing/suites/index.ts';

/** Characters: two lines of a terminal. */
const LONGEST = 210;

const graphs = new Map(suites.map((suite) => [suite.name, exploreAll(suite)]));
const pathsOf = (suite: MachineSuite): Path[] => coveringPaths(graphs.get(suite.name) ?? []);

/** The path of the attempt machine that these steps make; each is `event case: next state`. */
function path(suite: MachineSuite, input: string, steps: readonly (readonly [label: string, next: string])[]): Path {
  const found = suite.inputs.find(({ group, label }) => `${group} ${label}`.trim() === input);
  if (found === undefined) throw new Error(`no input ${input}`);
  const states = ['bootstrap.opening', ...steps.map(([, next]) => next)];
  return {
    suite,
    input: found,
    steps: steps.map(([label, next], at) => ({ label, event: { type: label }, state: states[at] ?? '', next })),
  };
}

const TO_TURN = [
  ['done open: no file', 'bootstrap.draining'],
  ['done drainOutbox', 'bootstrap.reading'],
  ['done read', 'assembling'],
  ['done assemble', 'projecting'],
  ['done project: start', 'hook-build'],
  ['done buildPrompt', 'thread-start.connecting'],
  ['done connect', 'thread-start.starting'],
] as const;
const FROM_TURN = [
  ['done turn: completed', 'mirroring.writing'],
  ['done mirror', 'finalizing.working'],
  ['done finalize: ok', 'completed'],
] as const;
const PLAIN = [...TO_TURN, ['done startThread', 'turning.running'], ...FROM_TURN] as const;

describe.each(suites.map((suite) => [suite.name, suite] as const))('titles of the %s machine', (_name, suite) => {
  const paths = pathsOf(suite);
  const titles = pathTitles(paths);

  it('tell all paths apart, in at most two lines', () => {
    expect(new Set(titles).size).toBe(paths.length);
    const longest = titles.reduce((one, other) => (other.length > one.length ? other : one));
    expect(longest.length, longest).toBeLessThanOrEqual(LONGEST);
    expect(titles.filter((title) => title.trim() === '' || title.includes('\n'))).toEqual([]);
  });

  it('are words, not the names of event cases', () => {
    const raw =
      /\[|xstate|\b(?:done|error|after) [a-z]+[A-Z]|\b(?:ABORT|COMPLETED|EXITED|EFFECT|INTERRUPT|STOP|RETIRE)\b/;
    expect(titles.filter((title) => raw.test(title))).toEqual([]);
  });

  it('say the outcome', () => {
    const wrong = paths.filter((one, at) => {
      const outcome = outcomeOf(one);
      return !(titles[at] ?? '').split(' → ').includes(suite.words?.outcomes?.[outcome] ?? outcome);
    });
    expect(wrong).toEqual([]);
  });

  it('do not depend on the order of the paths, nor on the run', () => {
    expect(pathTitles([...paths].reverse())).toEqual([...titles].reverse());
    expect(pathTitles(coveringPaths(exploreAll(suite)))).toEqual(titles);
  });
});

describe('titles', () => {
  it('name what is remarkable, and then the outcome', () => {
    const attempts = [
      path(attemptSuite, 'turn none', PLAIN),
      path(attemptSuite, 'turn maintain', [
        ...TO_TURN.slice(0, 4),
        ['done project: resume', 'hook-build'],
        ['done buildPrompt', 'thread-start.connecting'],
        ['done connect', 'thread-start.resuming'],
        ['error resumeThread: stale', 'projecting'],
        ['done project: start', 'hook-build'],
        ['done buildPrompt', 'thread-start.connecting'],
        ['done connect', 'thread-start.starting'],
        ['done startThread', 'turning.running'],
        ['done turn: completed', 'mirroring.writing'],
        ['done mirror', 'finalizing.working'],
        ['done finalize: ok', 'maintaining'],
        ['done maintain: foreground', 'completed'],
      ]),
      path(attemptSuite, 'turn none', [...TO_TURN.slice(0, 3), ['ABORT', 'aborted']]),
      path(attemptSuite, 'turn none', [
        ...TO_TURN.slice(0, 5),
        ['after hooksBudget', 'thread-start.connecting'],
        ['error connect', 'failed'],
      ]),
      path(attemptSuite, 'turn none', [
        ...TO_TURN,
        ['done startThread', 'turning.running'],
        ['ABORT', 'turning.interrupting'],
        ['ABORT', 'turning.interrupting'],
        ['done turn: aborted', 'mirroring.hurried'],
        ['done mirror', 'finalizing.hurried'],
        ['done finalize: ok', 'aborted'],
      ]),
      path(attemptSuite, 'compact bare', [...TO_TURN.slice(0, 2), ['after storeBudget', 'failed']]),
    ];
    expect(pathTitles(attempts)).toEqual([
      'new session, no engine → completed',
      'resumed thread is stale → fresh thread → completed → maintained',
      'aborted while the context is assembled → aborted',
      'the hooks ran out of time → Codex cannot be connected → failed',
      'aborted while the turn runs → aborted again → aborted',
      'only compaction → reading the session ran out of time → failed',
    ]);
  });

  it('of paths that are alike also name what they differ in, and no more', () => {
    const known = ['done open: file, bound', 'bootstrap.draining'] as const;
    const failed = [...PLAIN.slice(0, -2), ['error mirror', 'finalizing.working'], PLAIN.at(-1) ?? known] as const;
    const alike = [
      path(attemptSuite, 'turn none', failed),
      path(attemptSuite, 'turn bare', failed),
      path(attemptSuite, 'turn bare', [known, ...failed.slice(1)]),
    ];
    expect(pathTitles(alike)).toEqual([
      'new session, no engine → the rows cannot be written → completed',
      'new session, engine: bare → the rows cannot be written → completed',
      'known session with a thread, engine: bare → the rows cannot be written → completed',
    ]);
    expect(pathTitles(alike.slice(0, 2))).toEqual([
      'no engine → the rows cannot be written → completed',
      'engine: bare → the rows cannot be written → completed',
    ]);
    expect(pathTitles(alike.slice(0, 1))).toEqual(['the rows cannot be written → completed']);
  });

  it('fall back on every step by its label', () => {
    const silent: MachineSuite = { ...compactionSuite, words: { says: {}, asides: {} } };
    const steps = (label: string) =>
      path(silent, 'nobody', [
        ['INTERRUPT abort', 'settled'],
        [label, 'settled'],
      ]);
    expect(pathTitles([steps('error compactNative'), steps('error compactEngine')])).toEqual([
      '[nobody] INTERRUPT abort → error compactNative → settled',
      '[nobody] INTERRUPT abort → error compactEngine → settled',
    ]);
  });

  it('of a suite without words are its labels', () => {
    const { words: _words, ...wordless } = { ...compactionSuite, inputs: [{ group: '', label: 'any', input: {} }] };
    expect(pathTitles([path(wordless, 'any', [[done('compactEngine', 'compacted').label, 'settled']])])).toEqual([
      'done compactEngine: compacted → settled',
    ]);
  });
});

it('every step says something, but for the normal next one of each state', () => {
  const silent = suites.flatMap((suite) => {
    const edges = (graphs.get(suite.name) ?? []).flatMap(({ nodes }) =>
      [...nodes.values()].flatMap((node) => node.edges),
    );
    const lines = edges.flatMap((edge) => {
      const { says, aside } = wordsFor(suite.words ?? { says: {}, asides: {} }, edge);
      return says === undefined && aside === undefined ? [`${edge.state} | ${edge.label}`] : [];
    });
    return [...new Set(lines)];
  });
  expect(silent.sort()).toEqual([
    'assembling | done assemble',
    'bootstrap.draining | done drainOutbox',
    'bootstrap.reading | done read',
    'bootstrap.recovering | done recover',
    'bootstrap.rereading | done reread',
    'draining | done drain',
    'finalizing.hurried | done finalize: ok',
    'finalizing.working | done finalize: ok',
    'hook-build | done buildPrompt',
    'mirroring.hurried | done mirror',
    'mirroring.writing | done mirror',
    'projecting | done project: start',
    'starting | done handshake',
    'thread-start.connecting | done connect',
  ]);
});
