import type { AttemptOutput } from '../../../machines/attempt-types.ts';
import type { ThreadBinding } from '../../ports.ts';
import type { AgentMessage } from '../../transcript/messages.ts';
import { promptKey } from '../../transcript/mirror.ts';
import type { ControlledCall } from '../controlled/script.ts';
import type { DirectedRun } from '../director/execute.ts';
import { DIRECTED_ADDITION, DIRECTED_HOOK, DIRECTED_PROMPT } from '../director/scene.ts';
import { finalState, stepsTaken, visits } from './invariant.ts';
import { keptInvariants } from './kept.ts';
import {
  before,
  FINALIZERS,
  fields,
  finalizers,
  hookEvent,
  indexOf,
  inputText,
  isPrompt,
  named,
  type PortInvariant,
  took,
  turned,
  turnMessages,
} from './port-calls.ts';

export type { PortInvariant } from './port-calls.ts';

/** The invariants that a directed run breaks, as `spec: sentence`. */
export const portViolations = (run: DirectedRun): string[] =>
  portInvariants.filter((invariant) => !invariant.holds(run)).map(({ spec, says }) => `${spec}: ${says}`);

/** Index of the first call that was made after the first ABORT; null: there was no ABORT. */
function afterAbort(run: DirectedRun): number | null {
  const step = stepsTaken(run).findIndex(({ label }) => label === 'ABORT');
  return step === -1 ? null : (run.callsBefore[step] ?? null);
}

/** What may still be called once an abort was asked: nothing that begins something. */
const AFTER_ABORT =
  /^(?:transcript\.(?:read|append|close)|binding\.(?:read|write)|journal\.\w+|outbox\.\w+|codex\.(?:turn\/interrupt|retire)|hook\.(?:llm_output|agent_end|before_message_write|after_compaction)|engine\.(?:commitTurn|afterTurn|ingestBatch|ingest))$/;
/** And where no turn had begun. */
const AFTER_EARLY_ABORT = /^(?:transcript\.(?:read|close)|binding\.read|journal\.read|hook\.agent_end)$/;

export const portInvariants: readonly PortInvariant[] = [
  {
    spec: 'C1',
    says: 'every attempt comes to a result, which says what its machine came to',
    holds: ({ result, snapshots, ...run }) => {
      const output = snapshots.at(-1)?.output as AttemptOutput | undefined;
      if (result === null || output === undefined) return false;
      const { outcome, states, error, degraded } = result;
      const ways = visits({ ...run, snapshots });
      return (
        outcome === finalState({ ...run, snapshots }) &&
        states.join() === ways.join() &&
        (error !== undefined) === (outcome === 'failed') &&
        output.degraded.every((step) => degraded.some(({ state, code }) => state === step.state && code === step.code))
      );
    },
  },
  {
    spec: '2.2',
    says: 'the engine bootstraps at most once, before it assembles, and only if the session was there',
    holds: (run) => {
      const calls = named(run, 'engine.bootstrap');
      const existed = stepsTaken(run).some(({ label }) => /^done open: file/.test(label));
      return (
        calls.length <= (existed ? 1 : 0) && before(indexOf(run, 'engine.bootstrap'), indexOf(run, 'engine.assemble'))
      );
    },
  },
  {
    spec: 'E2',
    says: 'bootstrap maintenance comes before assemble; turn maintenance once, after the finalizer of a completed turn',
    holds: (run) => {
      const at = (reason: string) =>
        run.calls.flatMap(({ name, params }, index) =>
          name === 'engine.maintain' && fields(params)['reason'] === reason ? [index] : [],
        );
      const [atBootstrap, atTurn] = [at('bootstrap'), at('turn')];
      const finalized = run.calls.findLastIndex(({ name }) => FINALIZERS.some((method) => name === `engine.${method}`));
      return (
        atBootstrap.length <= 1 &&
        before(atBootstrap[0] ?? -1, indexOf(run, 'engine.assemble')) &&
        atTurn.length <= 1 &&
        (atTurn[0] === undefined || (took(run, 'done turn: completed') && finalized !== -1 && finalized < atTurn[0]))
      );
    },
  },
  {
    spec: '2.4',
    says: 'the engine assembles with the names of the tools that the thread gets, on the history before this turn',
    holds: (run) => {
      const offered = named(run, 'codex.thread/start').map(({ params }) =>
        (fields(params)['dynamicTools'] as { name: string }[]).map(({ name }) => name).sort(),
      );
      return named(run, 'engine.assemble').every(({ params }) => {
        const { availableTools, messages, prompt } = fields(params);
        const names = availableTools instanceof Set ? [...availableTools].sort() : null;
        return (
          names !== null &&
          prompt === DIRECTED_PROMPT &&
          offered.every((tools) => tools.join() === names.join()) &&
          !(messages as AgentMessage[]).some(isPrompt)
        );
      });
    },
  },
  {
    spec: '2.6-2.8',
    says: 'hooks see what Codex gets: the turn starts with what they were shown and what they added, nothing else',
    holds: (run) =>
      run.calls.every((call, index) => {
        if (call.name !== 'codex.turn/start') return true;
        const build = run.calls.slice(0, index).findLast(({ name }) => name === 'hook.before_prompt_build');
        const told = run.calls.slice(0, index).findLast(({ name }) => name === 'hook.llm_input');
        if (build === undefined || told === undefined) return false;
        const shown = String(hookEvent(build)['prompt']);
        const sent = inputText(call);
        const both = sent === shown || sent === `${DIRECTED_HOOK.prependContext}\n\n${shown}`;
        return both && sent.endsWith(DIRECTED_PROMPT) && hookEvent(told)['prompt'] === sent;
      }),
  },
  {
    spec: '2.7',
    says: "the thread gets the engine's addition exactly if the engine assembled, and what the hooks added last",
    holds: (run) =>
      run.calls.every((call, index) => {
        if (call.name !== 'codex.thread/start' && call.name !== 'codex.thread/resume') return true;
        if (run.path.input.group !== 'turn') return true;
        const earlier = run.calls.slice(0, index);
        const assembled = earlier.findLast(({ name }) => name === 'engine.assemble');
        const build = earlier.findLast(({ name }) => name === 'hook.before_prompt_build');
        const given = String(fields(call.params)['developerInstructions'] ?? '');
        const shown = String(hookEvent(build ?? call)['developerInstructions'] ?? '');
        const rule = DIRECTED_HOOK.appendSystemContext;
        const parts = shown === '' ? rule : `${shown}\n\n${rule}`;
        const hasAddition = given.split('\n\n').filter((part) => part === DIRECTED_ADDITION).length;
        return (given === shown || given === parts) && hasAddition <= (assembled === undefined ? 0 : 1);
      }),
  },
  {
    spec: 'M1',
    says: "the turn's rows are written before the one finalizer, which gets them from the prompt on",
    holds: (run) => {
      const messages = turnMessages(run);
      if (messages === null) return true;
      const first = run.calls.findIndex(({ name }) => FINALIZERS.some((method) => name === `engine.${method}`));
      const written = indexOf(run, 'transcript.append');
      const rows = run.scene.controlled.codex.turns.length > 0 || run.result?.turnId != null;
      return written !== -1 && written < first && (!rows || isPrompt(messages[0]));
    },
  },
  {
    spec: 'D1',
    says: 'there is never a second finalizer for one turn, and a durable engine hears of accepted turns only',
    holds: (run) => {
      const calls = finalizers(run);
      const methods = new Set(calls.map(({ name }) => name));
      const once = methods.has('engine.ingest') || calls.length <= 1;
      const accepted = took(run, 'done turn: completed');
      return (
        methods.size <= 1 &&
        once &&
        (accepted || !methods.has('engine.commitTurn')) &&
        (turned(run) || calls.length === 0)
      );
    },
  },
  {
    spec: '2.10',
    says: 'an engine that is not suspended hears of every turn that it can be told of',
    holds: (run) => {
      const { active, durable } = run.scene;
      const finalized = took(run, 'done finalize: ok');
      if (active === null || !finalized || (durable && !took(run, 'done turn: completed'))) return true;
      // Forced: nothing of the turn is there to be told.
      return finalizers(run).length > 0 || run.forced.some(({ label }) => label.startsWith('done finalize'));
    },
  },
  {
    spec: 'M4',
    says: 'after ABORT nothing is called but what writes the turn down, ends it and gives the session back',
    holds: (run) => {
      const from = afterAbort(run);
      if (from === null) return true;
      const late = visits(run).some((state) => state === 'turning' || state === 'compacting');
      const allowed = late ? AFTER_ABORT : AFTER_EARLY_ABORT;
      return run.calls.slice(from).every(({ name }) => allowed.test(name));
    },
  },
  {
    spec: 'T1',
    says: 'no thread is bound but one that was bound already or began a turn',
    holds: (run) => {
      const begun = named(run, 'codex.turn/start').map(({ params }) => String(fields(params)['threadId']));
      const known = new Set([run.scene.boundThread, ...begun]);
      const written = named(run, 'binding.write').flatMap(({ params }) => (params as ThreadBinding).threads);
      return written.every(({ threadId }) => known.has(threadId));
    },
  },
  {
    spec: 'K4',
    says: 'the prompt is sent again only after the engine has really made room, and once',
    holds: (run) => {
      const sent = named(run, 'codex.turn/start').length;
      const made = run.scene.path.input.group === 'turn' && took(run, 'done compaction: engine') ? 1 : 0;
      return sent <= 1 + made;
    },
  },
  {
    spec: 'design 6',
    says: 'agent_end is told once; llm_output once if a turn ran, before it; both before the finalizer of a mirrored turn',
    holds: (run) => {
      const [outputs, ends] = [named(run, 'hook.llm_output'), named(run, 'hook.agent_end')];
      const ran = run.invocations.some(({ actor }) => actor === 'turn');
      const real = ran && !run.forced.some(({ label }) => /^(?:done|error) turn/.test(label));
      const expected = real ? outputs.length === 1 : outputs.length <= 1;
      const mirrored = took(run, 'done mirror');
      return (
        ends.length === 1 &&
        expected &&
        before(indexOf(run, 'hook.llm_output'), indexOf(run, 'hook.agent_end')) &&
        (!mirrored ||
          before(
            indexOf(run, 'hook.agent_end'),
            run.calls.indexOf(finalizers(run)[0] ?? (ends[0] as ControlledCall)),
          ) ||
          finalizers(run).length === 0)
      );
    },
  },
  {
    spec: 'C1',
    says: 'at the end the session is given back and nobody listens to the app-server any more',
    holds: ({ scene, calls }) => {
      const { session, codex } = scene.controlled;
      return (
        !session.state.open &&
        calls.some(({ name }) => name === 'transcript.close') &&
        codex.clients.every(({ registered }) => registered === 0)
      );
    },
  },
  {
    spec: 'design 5',
    says: 'nothing is written once the session was given back, whatever answers late',
    holds: ({ calls }) => {
      const closed = calls.findIndex(({ name }) => name === 'transcript.close');
      const late = calls.slice(closed).map(({ name }) => name);
      return !late.some((name) =>
        /^(?:transcript\.append|(?:binding|journal)\.(?:write|clear)|outbox\.\w+)$/.test(name),
      );
    },
  },
  {
    spec: 'E3',
    says: 'at the end no call is under way whose signal is not aborted',
    holds: ({ calls }) => calls.every(({ settled, signal }) => settled || signal === undefined || signal.aborted),
  },
  {
    spec: 'M4',
    says: 'a turn that may still run has its process retired',
    holds: ({ scene }) =>
      scene.controlled.codex.turns.every((turn) => turn.over || turn.client.exit !== null) &&
      scene.controlled.script.calls.every(
        ({ name, settled }) =>
          name !== 'codex.turn/start' || settled || scene.controlled.codex.clients.every(({ exit }) => exit !== null),
      ),
  },
  {
    spec: 'M1',
    says: 'no row is in the session twice, and a turn that began has left its prompt row there',
    holds: ({ scene, result }) => {
      const { entries } = scene.controlled.session.state;
      const keys = entries.flatMap(({ message }) => message.idempotencyKey ?? []);
      const begun = scene.controlled.codex.turns.length > 0;
      const prompts = keys.filter((key) => key === promptKey(result?.attemptId ?? ''));
      return new Set(keys).size === keys.length && prompts.length <= 1 && (!begun || prompts.length === 1);
    },
  },
  {
    spec: 'M4',
    says: 'once a turn is written down and handed over no intent of it is left',
    holds: (run) => {
      const { intent } = run.scene.controlled.session.state;
      const over = took(run, 'done finalize: ok', 'done finalize: not ok');
      return !over || intent === null;
    },
  },
  {
    spec: 'design 6',
    says: 'the trace enters and leaves each state once per visit, the inner one first',
    holds: ({ scene }) => {
      const open: string[] = [];
      for (const { type, state } of scene.controlled.trace) {
        if (type === 'state.enter') open.push(String(state));
        else if (type === 'state.exit' && open.pop() !== state) return false;
      }
      return open.length === 0;
    },
  },
  ...keptInvariants,
];
