/**
 * Words of this folder. A *scene* is every port of one run, under control. The *director* leads the real work of an
 * attempt along a path: it holds the work of each state, sets the ports by the *work plan* of its actor, and lets it go.
 * A *play* does the same for a machine inside the attempt (turn, compaction); where that cannot end as the path says, a
 * *stand-in* ends in its place. What no port can bring about is *forced*, in lists *made up*. A *stage* is a scene with
 * its plays: tests have one with the real app-server.
 */

import {
  type AttemptInput,
  defaultBudgets,
  type EngineFacts,
  type OpenOutput,
} from '../../../machines/attempt-types.ts';
import type { ContextEngine } from '../../engine/contract.ts';
import type { HookName, HostTool, SessionStore, ThreadBinding, TurnIntent } from '../../ports.ts';
import { toolFingerprint } from '../../tools/fingerprint.ts';
import { quiet } from '../controlled/clock.ts';
import { DURABLE_INFO, type OptionalMethod, scriptedEngine } from '../controlled/engine.ts';
import { assistantRow, userRow } from '../controlled/messages.ts';
import { type Controlled, controlledServices } from '../controlled/services.ts';
import { bindingOf, scriptedStore } from '../controlled/session.ts';
import type { ControlledTurn } from '../controlled/turn.ts';
import type { Path } from '../paths/generate.ts';
import type { PathStep } from '../paths/suite.ts';
import { turnsCanHappen } from './turn-play.ts';

/** What a path is run with instead of controlled ports. */
export interface SceneOptions {
  /**
   * Chooses among the ways in which a port can bring about the same outcome (an error thrown, an answer that makes no
   * sense, a late answer, …). Equal numbers make equal runs. Default 0.
   */
  variant?: number | undefined;
  /** An engine of somebody else. Its steps can be driven only where it succeeds. */
  engine?: ContextEngine | undefined;
  /** A session of somebody else. It must be as the path's first step says: there or not, bound or not. */
  session?: SessionStore | undefined;
  /** Default `directed prompt`. */
  prompt?: string | undefined;
  isHeartbeat?: boolean | undefined;
  tokenBudget?: number | undefined;
  /** The session's key. Default: its id. */
  sessionKey?: string | undefined;
  /** How many turns the app-server had before: runs on one session must not have turns of the same name. Default 0. */
  turnsBefore?: number | undefined;
  /** What an engine or a session of somebody else has under way, until it ends; null: nothing. Default: nothing. */
  underWay?: (() => Promise<void> | null) | undefined;
}

/** Every port of one run, and what its plays must know. */
export interface Scene {
  path: Path;
  controlled: Controlled;
  engine: ContextEngine | null;
  /** The engine, unless it is suspended because its queue could not be drained. */
  active: ContextEngine | null;
  /** The engine is finalized by `commitTurn`. */
  durable: boolean;
  /** The native thread that the session is bound to. */
  boundThread: string;
  /** The tools cannot be offered while this is true. */
  tools: { broken: boolean };
  /** What the app-server does with the next turn that it starts. */
  turnPlay: (turn: ControlledTurn) => void | Promise<void>;
  /** The engine is somebody else's: what it answers is its own. */
  foreign: boolean;
  /** Resolves when nothing is under way that needs no time to pass. */
  rest(): Promise<void>;
  /** Resolves when the work of a state has come to this port. Default: it has when things are at rest. */
  reached?(port: string): Promise<void>;
  /** Real milliseconds that a step may take beside the simulated ones. Default 0: ports in memory take none. */
  patience?: number;
  /** The next of several ways to bring about the same. */
  pick<T>(ways: readonly [T, ...T[]]): T;
}

export const DIRECTED_PROMPT = 'directed prompt';
/** What the hook of a directed run puts around the prompt and behind the instructions. */
export const DIRECTED_HOOK = { prependContext: 'from a hook', appendSystemContext: 'rule of a hook' } as const;
/** The hooks that are registered. */
const DIRECTED_HOOKS: readonly HookName[] = [
  'before_prompt_build',
  'llm_input',
  'llm_output',
  'agent_end',
  'before_compaction',
  'after_compaction',
];
export const DIRECTED_ADDITION = 'rule of the engine';
/** Id of the native thread that the session of a directed run is bound to. */
export const BOUND_THREAD = 'thread-9';

const inputOf = ({ input }: Path): AttemptInput => input.input as AttemptInput;
const has = (path: Path, label: string): boolean => path.steps.some((step) => step.label === label);
const firstOf = (path: Path, prefix: string): PathStep | undefined =>
  path.steps.find(({ label }) => label.startsWith(prefix));

/** The request that a path is about. */
export const requestOf = (path: Path): 'turn' | 'compact' => inputOf(path).request;

/** Makes the ports of a path: a session, a binding and an engine with which its steps can come about. */
export function createScene(path: Path, options: SceneOptions, runId: string): Scene {
  const { variant = 0 } = options;
  let picked = 0;
  const pick: Scene['pick'] = (ways) => {
    picked += 1;
    return ways[mixed(variant, picked) % ways.length] ?? ways[0];
  };
  const facts = inputOf(path).engine;
  const methods = facts === null ? null : methodsOf(path, facts, pick);
  const opened = (firstOf(path, 'done open')?.event as { output?: OpenOutput } | undefined)?.output;
  const tools = { broken: false };
  const fragile = fragileTool(tools);
  const sessionFile = `/controlled/${runId}/session.jsonl`;
  const catalogue = [...PLAIN_TOOLS, fragile];
  const controlled = controlledServices({
    sessionFile,
    history: opened?.hadSessionFile === true ? [userRow('old question'), assistantRow('old answer')] : undefined,
    binding: directedBinding(path, opened),
    intent: opened?.journalOpen === true ? BROKEN_OFF : null,
    engine: facts === null || methods === null ? null : engineSetup(path, facts, methods),
    promptBuild: DIRECTED_HOOK,
    hooks: DIRECTED_HOOKS,
    codex: { turns: [(turn) => scene.turnPlay(turn)], interruptible: false },
  });
  const { script } = controlled;
  controlled.codex.turnsBefore = options.turnsBefore ?? 0;
  const services = { ...controlled.services, tools: catalogue };
  if (options.session !== undefined) services.session = scriptedStore(script, options.session);
  const engine = options.engine === undefined ? controlled.engine : scriptedEngine(script, options.engine);
  services.engine = engine;
  const scene: Scene = {
    path,
    controlled: { ...controlled, services, engine },
    engine,
    active: isSuspended(path) ? null : engine,
    durable: engine?.info.transcriptSemantics !== undefined && typeof engine.commitTurn === 'function',
    boundThread: BOUND_THREAD,
    tools,
    turnPlay: (turn) => turn.plain(),
    foreign: options.engine !== undefined,
    async rest() {
      await quiet();
      // One call may be made for what another came to.
      for (let work = options.underWay?.(); work; work = options.underWay?.()) {
        await work;
        await quiet();
      }
    },
    pick,
  };
  return scene;
}

/** A number that two choices in a row have nothing to do with each other by. Equal for equal arguments. */
function mixed(variant: number, picked: number): number {
  let hash = Math.imul(variant + 1, 0x9e3779b1) ^ Math.imul(picked, 0x85ebca77);
  hash = Math.imul(hash ^ (hash >>> 15), 0xc2b2ae3d);
  return (hash ^ (hash >>> 13)) >>> 0;
}

/** The params of a path's attempt. */
export function paramsOf(path: Path, options: SceneOptions, budgets: Record<string, number>, attemptId: string) {
  const { prompt = DIRECTED_PROMPT, isHeartbeat, tokenBudget, sessionKey } = options;
  return {
    attemptId,
    prompt: requestOf(path) === 'turn' ? prompt : '',
    cwd: '/controlled/work',
    budgets: { ...defaultBudgets, ...budgets },
    ...(isHeartbeat === undefined ? {} : { isHeartbeat }),
    ...(tokenBudget === undefined ? {} : { tokenBudget }),
    ...(sessionKey === undefined ? {} : { sessionKey }),
  };
}

/** The binding that the session of a path must have. */
export function directedBinding(path: Path, opened: OpenOutput | undefined): ThreadBinding | null {
  if (!isBound(path, opened)) return null;
  return bindingOf({ toolFingerprint: fingerprintOf(path, [...PLAIN_TOOLS, fragileTool({ broken: false })]) });
}

/** A path that resumes, or has a native compaction to interrupt, needs a bound thread, whatever its first step says. */
function isBound(path: Path, opened: OpenOutput | undefined): boolean {
  const interrupts = path.steps.some(({ state, label }) => state === 'compacting.working' && label === 'ABORT');
  return (
    opened?.bound === true ||
    resumes(path) ||
    has(path, 'done compaction: native') ||
    (requestOf(path) === 'compact' && interrupts)
  );
}

const resumes = (path: Path): boolean => firstOf(path, 'done project')?.label === 'done project: resume';

/** A thread of other tools is not resumed. */
function fingerprintOf(path: Path, tools: readonly HostTool[]): string {
  const starts = firstOf(path, 'done project')?.label === 'done project: start';
  return toolFingerprint(starts ? [] : tools);
}

const FINALIZERS = ['commitTurn', 'afterTurn', 'ingestBatch', 'ingest'] as const;

/** The optional methods of the engine: what the input says, and a finalizer with which the path can come about. */
function methodsOf(path: Path, facts: EngineFacts, pick: Scene['pick']): OptionalMethod[] {
  const finalizer = finalizerFor(path, pick);
  const methods: OptionalMethod[] = [];
  if (facts.bootstrap) methods.push('bootstrap');
  if (facts.maintain) methods.push('maintain');
  if (finalizer !== 'ingest') methods.push(finalizer);
  return methods;
}

/** The queue could not be drained: the engine is not used (spec D3). */
const isSuspended = (path: Path): boolean =>
  path.steps.some(
    ({ state, label }) => state === 'bootstrap.draining' && !label.startsWith('done') && label !== 'ABORT',
  );

function finalizerFor(path: Path, pick: Scene['pick']): (typeof FINALIZERS)[number] {
  // Only a durable engine has a queue that can fail to be drained.
  if (isSuspended(path)) return 'commitTurn';
  // A turn that could only be made up has no rows to ingest.
  if (!turnsCanHappen(path)) return 'afterTurn';
  const ended = firstOf(path, 'done turn')?.label;
  const mirrored = path.steps.some(({ label }) => label === 'done mirror');
  // Only an accepted turn whose rows are in the session is committed.
  return ended === 'done turn: completed' && mirrored ? pick(FINALIZERS) : pick(['afterTurn', 'ingestBatch', 'ingest']);
}

function engineSetup(path: Path, facts: EngineFacts, methods: readonly OptionalMethod[]) {
  return {
    methods,
    assembly: { systemPromptAddition: DIRECTED_ADDITION },
    info: {
      ownsCompaction: facts.ownsCompaction,
      ...(methods.includes('commitTurn') ? DURABLE_INFO : {}),
      ...(has(path, 'done maintain: background') ? { turnMaintenanceMode: 'background' as const } : {}),
    },
  };
}

const PLAIN_TOOLS: readonly HostTool[] = [
  {
    name: 'lookup',
    description: 'looks something up',
    parameters: { type: 'object', properties: { q: { type: 'string' } } },
    execute: () => 'found',
  },
  {
    name: 'pause',
    description: 'ends the turn by yielding',
    parameters: { type: 'object', properties: {} },
    execute: () => ({ text: 'later', yield: true }),
  },
  {
    name: 'stall',
    description: 'never answers',
    parameters: { type: 'object', properties: {} },
    execute: () => new Promise(() => {}),
  },
];

/** A tool that cannot be offered while it is broken. */
function fragileTool(state: { broken: boolean }): HostTool {
  return {
    name: 'fragile',
    description: 'breaks when it is told to',
    get parameters() {
      if (state.broken) throw new Error('the tool is broken');
      return { type: 'object', properties: {} };
    },
    execute: () => 'done',
  };
}

/** The intent of a turn that a crash broke off. */
const BROKEN_OFF: TurnIntent = {
  version: 1,
  attemptId: 'earlier',
  threadId: BOUND_THREAD,
  turnId: 'turn-9',
  promptRow: {
    idempotencyKey: 'codex-attempt:earlier:prompt',
    message: {
      role: 'user',
      content: [{ type: 'text', text: 'broken off' }],
      timestamp: 1,
      idempotencyKey: 'codex-attempt:earlier:prompt',
    },
  },
  realm: 'live',
};
