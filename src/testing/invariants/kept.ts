import type { BoundThread, ThreadBinding, TurnIntent } from '../../ports.ts';
import { promptKey } from '../../transcript/mirror.ts';
import type { DirectedRun } from '../director/execute.ts';
import { stepsTaken } from './invariant.ts';
import { FINALIZERS, fields, finalizers, indexOf, named, type PortInvariant, took } from './port-calls.ts';

/** Indices of the calls of a port. */
const at = (run: DirectedRun, name: string): number[] =>
  run.calls.flatMap((call, index) => (call.name === name ? [index] : []));

const keysOf = (params: unknown): readonly string[] => (fields(params)['keys'] as readonly string[] | undefined) ?? [];
const threadOf = (params: unknown): unknown => fields(params)['threadId'];
const isAborted = (run: DirectedRun): boolean => stepsTaken(run).some(({ label }) => label === 'ABORT');
/** Ports in memory: what they hold at the end may be looked at. */
const inMemory = ({ scene }: DirectedRun): boolean => scene.patience === undefined;

/** Where the prompt row alone was written because `turn/started` was seen; `mirroring` may write it alone later. */
function startsAt(run: DirectedRun): number[] {
  const key = promptKey(run.result?.attemptId ?? '');
  const started = run.scene.controlled.trace.filter(({ method }) => method === 'turn/started').length;
  const alone = at(run, 'transcript.append').filter((index) => {
    const keys = keysOf(run.calls[index]?.params);
    return keys.length === 1 && keys[0] === key;
  });
  return alone.slice(0, started);
}

const bound = (params: unknown): BoundThread | undefined => (params as ThreadBinding).threads[0];

/** What an attempt keeps for the next one, and in which order: intents, bindings, rows; and what its hooks are told. */
export const keptInvariants: readonly PortInvariant[] = [
  {
    spec: 'design 2',
    says: 'every turn is requested after its intent was written, which names its thread',
    holds: (run) => {
      let last = -1;
      return at(run, 'codex.turn/start').every((index) => {
        const between = run.calls.slice(last + 1, index).filter(({ name }) => name === 'journal.write');
        last = index;
        const intent = between.at(-1)?.params as TurnIntent | undefined;
        return intent?.turnId === null && intent.threadId === threadOf(run.calls[index]?.params);
      });
    },
  },
  {
    spec: 'design 2',
    says: 'a turn that has begun has its id in the intent',
    holds: (run) =>
      startsAt(run).every((index) =>
        run.calls
          .slice(index)
          .some(({ name, params }) => name === 'journal.write' && fields(params)['turnId'] !== null),
      ),
  },
  {
    spec: 'D3',
    says: 'an accepted turn is owed to a durable engine before its rows are written',
    holds: (run) => {
      if (!run.scene.durable || !took(run, 'done turn: completed') || !took(run, 'done mirror')) return true;
      const owed = run.calls.findIndex(({ name, params }) => name === 'journal.write' && 'accepted' in fields(params));
      const rows = at(run, 'transcript.append').at(-1) ?? -1;
      return owed !== -1 && owed < rows;
    },
  },
  {
    spec: 'M4',
    says: 'what a crash broke off is mirrored before its intent is closed',
    holds: (run) => {
      if (!inMemory(run) || !took(run, 'done recover')) return true;
      const rows = run.calls.findIndex(
        ({ name, params }) => name === 'transcript.append' && keysOf(params).includes('codex-attempt:earlier:prompt'),
      );
      return rows !== -1 && rows < indexOf(run, 'journal.clear');
    },
  },
  {
    spec: 'T1',
    says: 'a thread is bound as soon as its turn has begun',
    holds: (run) =>
      isAborted(run) ||
      startsAt(run).every((index) => {
        const requested = run.calls.slice(0, index).findLast(({ name }) => name === 'codex.turn/start');
        const written = run.calls.slice(0, index).findLast(({ name }) => name === 'binding.write');
        return written !== undefined && bound(written.params)?.threadId === threadOf(requested?.params);
      }),
  },
  {
    spec: 'design 3',
    says: 'a bound thread has seen all rows of the session once its turn is mirrored',
    holds: (run) => {
      const isBegun = startsAt(run).length === named(run, 'codex.turn/start').length;
      if (!inMemory(run) || isAborted(run) || !isBegun || !took(run, 'done mirror')) return true;
      if (run.forced.some(({ label }) => /^(?:done|error) turn/.test(label))) return true;
      const written = named(run, 'binding.write').at(-1);
      const leaf = run.scene.controlled.session.state.entries.at(-1)?.entryId;
      return written !== undefined && bound(written.params)?.seenEntryId === leaf;
    },
  },
  {
    spec: 'K5',
    says: 'a thread that was compacted natively is to be given its instructions again',
    holds: (run) => {
      if (!took(run, 'done compaction: native') || run.forced.length > 0) return true;
      const written = named(run, 'binding.write').at(-1);
      return written !== undefined && bound(written.params)?.instructionsHash === null;
    },
  },
  {
    spec: '2.12',
    says: 'compaction hooks come in pairs around each compaction',
    holds: (run) => {
      let open = 0;
      for (const { name } of run.calls) {
        if (name === 'hook.before_compaction') open += 1;
        if (name === 'hook.after_compaction') open -= 1;
        if ((name === 'engine.compact' || name === 'codex.thread/compact/start') && open !== 1) return false;
      }
      const ended = stepsTaken(run).some(({ label }) => /^done compaction: (?:engine|native|nothing)/.test(label));
      return open <= 1 && (!ended || open === 0 || isAborted(run) || run.forced.length > 0);
    },
  },
  {
    spec: 'design 6',
    says: 'llm_input knows the thread of its turn, and new instructions are given after it',
    holds: (run) =>
      at(run, 'codex.turn/start').every((index) => {
        const earlier = run.calls.slice(0, index);
        const told = earlier.findLastIndex(({ name }) => name === 'hook.llm_input');
        const resumed = earlier.findLastIndex(({ name }) => name === 'codex.thread/resume');
        const given = earlier.findLastIndex(({ name }) => name === 'codex.thread/inject_items');
        const knows = fields(fields(run.calls[told]?.params)['context'])['threadId'];
        return knows === threadOf(run.calls[index]?.params) && (given < resumed || given === -1 || given > told);
      }),
  },
  {
    spec: '2.10',
    says: 'the result names the finalizer that was called',
    holds: (run) => {
      const [first] = finalizers(run);
      const method = FINALIZERS.find((one) => first?.name === `engine.${one}`);
      return method === undefined || run.result?.finalization.method === method;
    },
  },
];
