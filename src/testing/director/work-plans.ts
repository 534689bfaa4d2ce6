import { refusal } from '../controlled/codex.ts';
import { answer, fail, type Plan } from '../controlled/script.ts';
import type { PathStep } from '../paths/suite.ts';
import type { Scene } from './scene.ts';

/**
 * How the work of one state is made to come to an outcome, by what its ports do. Null: no port can bring it about, and
 * the work is made to end so all the same (`forced`).
 */
export interface WorkPlan {
  /** What the ports do so that the work ends well. Default: all succeed. */
  done?(scene: Scene, step: PathStep): Plan | null;
  error(scene: Scene, step: PathStep): Plan | null;
  /** Ports in which the work can hang; empty: it has none here. */
  hangs(scene: Scene): readonly string[];
}

const broken = fail('the port broke');
const onEngine =
  (...plans: [Plan, ...Plan[]]) =>
  ({ active, pick }: Scene): Plan | null =>
    active === null ? null : pick(plans);
/** The port by which the engine, if it hears of this turn at all, hears of it. */
const finalizerOf = ({ active: engine, durable, path }: Scene): string | null => {
  if (engine === null) return null;
  if (durable) return path.steps.some(({ label }) => label === 'done turn: completed') ? 'engine.commitTurn' : null;
  if (typeof engine.afterTurn === 'function') return 'engine.afterTurn';
  return typeof engine.ingestBatch === 'function' ? 'engine.ingestBatch' : 'engine.ingest';
};
const some = (name: string | null): readonly string[] => (name === null ? [] : [name]);

/** By actor. The two child machines have plays of their own. */
export const WORK_PLANS: Readonly<Record<string, WorkPlan>> = {
  open: {
    error: ({ pick }) =>
      pick<Plan>([
        { 'transcript.open': broken },
        { 'binding.read': broken },
        { 'journal.read': broken },
        { 'transcript.open': answer(null) },
      ]),
    hangs: () => ['transcript.open', 'binding.read', 'journal.read'],
  },
  recover: {
    error: ({ pick }) =>
      pick<Plan>([
        { 'codex.thread/read': fail(refusal('the thread cannot be read', -32603)) },
        { 'transcript.append': broken },
        { 'codex.connect': broken },
        { 'journal.clear': broken },
      ]),
    // A real app-server may know nothing of the turn: then there is nothing to write.
    hangs: ({ patience }) => [
      'codex.thread/read',
      'transcript.read',
      'codex.connect',
      ...(patience === undefined ? ['transcript.append'] : []),
    ],
  },
  drainOutbox: {
    error: ({ durable, pick }) =>
      durable ? pick<Plan>([{ 'outbox.list': broken }, { 'outbox.list': answer(7) }]) : null,
    hangs: ({ durable }) => (durable ? ['outbox.list'] : []),
  },
  read: {
    error: ({ pick }) => pick<Plan>([{ 'transcript.read': broken }, { 'transcript.read': answer(null) }]),
    hangs: () => ['transcript.read'],
  },
  bootstrapEngine: {
    error: onEngine({ 'engine.bootstrap': broken }, { 'engine.bootstrap': fail('') }),
    hangs: () => ['engine.bootstrap'],
  },
  bootstrapMaintenance: {
    error: onEngine({ 'engine.maintain': broken }),
    hangs: () => ['engine.maintain'],
  },
  reread: {
    error: ({ pick }) => pick<Plan>([{ 'transcript.read': broken }, { 'transcript.read': answer({}) }]),
    hangs: () => ['transcript.read'],
  },
  assemble: {
    error: (scene, { label }) => {
      if (label === 'error assemble: tools') {
        scene.tools.broken = true;
        return {};
      }
      return onEngine(
        { 'engine.assemble': broken },
        { 'engine.assemble': answer(null) },
        { 'engine.assemble': answer({ messages: 'none' }) },
        { 'engine.assemble': answer({ messages: [{ role: 'user', content: () => 1 }] }) },
      )(scene);
    },
    hangs: ({ active }) => (active === null ? [] : ['engine.assemble']),
  },
  // Our own synchronous work: it keeps its failures to itself.
  project: { error: () => null, hangs: () => [] },
  buildPrompt: {
    error: ({ pick }) =>
      pick<Plan>([{ 'hook.before_prompt_build': broken }, { 'hook.before_prompt_build': fail(undefined) }]),
    hangs: () => ['hook.before_prompt_build'],
  },
  connect: {
    error: () => ({ 'codex.connect': broken }),
    hangs: () => ['codex.connect'],
  },
  resumeThread: {
    error: ({ pick, boundThread }, { label }) =>
      label === 'error resumeThread: stale'
        ? pick<Plan>([
            { 'codex.thread/resume': fail(refusal(`no rollout found for thread id ${boundThread}`)) },
            { 'codex.thread/resume': fail(refusal(`thread not found: ${boundThread}`)) },
            { 'codex.thread/resume': fail(refusal(`invalid session id: ${boundThread}`)) },
          ])
        : pick<Plan>([
            { 'codex.thread/resume': fail(refusal('active writer')) },
            { 'codex.thread/resume': answer({}) },
            { 'codex.thread/resume': answer({ thread: { id: 'another' } }) },
            { 'codex.thread/inject_items': fail(refusal('no such thread')) },
          ]),
    hangs: () => ['codex.thread/resume', 'codex.thread/inject_items', 'hook.llm_input'],
  },
  startThread: {
    error: ({ pick }) =>
      pick<Plan>([
        { 'codex.thread/start': fail(refusal('config error')) },
        { 'codex.thread/start': answer({}) },
        { 'codex.thread/start': answer(null) },
      ]),
    hangs: () => ['codex.thread/start', 'hook.llm_input'],
  },
  mirror: {
    error: ({ pick }) => pick<Plan>([{ 'transcript.append': broken }, { 'transcript.read': broken }]),
    hangs: ({ pick }) => [pick(['transcript.append', 'transcript.read'])],
  },
  finalize: {
    done: (scene, { label }) => {
      if (label === 'done finalize: ok') return {};
      const finalizer = finalizerOf(scene);
      return finalizer === null ? null : { [finalizer]: broken };
    },
    // It never rejects: whatever goes wrong is an answer.
    error: () => null,
    hangs: (scene) => some(finalizerOf(scene)),
  },
  maintain: {
    error: () => ({ 'engine.maintain': broken }),
    hangs: () => ['engine.maintain'],
  },
};
