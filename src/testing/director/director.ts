import { type AnyActorLogic, type AnyStateMachine, type AnyStateNode, fromPromise } from 'xstate';
import type { ActorInput } from '../../../machines/attempt-types.ts';
import { type StateWork, stateWork } from '../../attempt/actors.ts';
import { gate, hang, type Plan, type Step } from '../controlled/script.ts';
import { DUE } from '../paths/execute.ts';
import { actorOf } from '../paths/generate.ts';
import { delayOf, type PathStep } from '../paths/suite.ts';
import type { ChildPlay } from './child-play.ts';
import { compactionPlay } from './compaction-play.ts';
import type { Scene } from './scene.ts';
import { createStandIn } from './stand-in.ts';
import { turnPlay } from './turn-play.ts';
import { WORK_PLANS } from './work-plans.ts';

/** How a held piece of work goes on. `wanted`: what the path says that it comes to; null: whatever it does. */
interface Order {
  wanted: { output: unknown } | { error: unknown } | null;
  /** No port can bring the error about: it is thrown once the work is done. */
  forced: boolean;
}

/** A step that happened although no port can bring it about. */
export interface ForcedStep {
  /** Index in the path. */
  step: number;
  label: string;
  why: string;
}

interface Held {
  signal: AbortSignal;
  go(order: Order): void;
}

/**
 * Leads the real work of an attempt along a path. The work of each state is held until the path says what it comes to;
 * then the ports are set so that they bring that about, and it runs. A state that is left before its work ends is left
 * while the work hangs in a port. What no port can bring about is forced, and written down in `forced`.
 */
export class Director {
  readonly forced: ForcedStep[] = [];
  /** How many calls of ports there were when each step came. */
  readonly callsBefore: number[] = [];
  readonly logic: Readonly<Record<string, AnyActorLogic>>;
  readonly #scene: Scene;
  readonly #steps: readonly PathStep[];
  readonly #abort: () => void;
  readonly #held = new Map<string, Held>();
  readonly #owners: ReadonlyMap<string, string>;
  readonly #plays: Readonly<Record<string, ChildPlay>>;
  readonly #standIns = new Map<string, ReturnType<typeof createStandIn>>();
  #planned: string[] = [];
  #late: (() => void)[] = [];
  readonly #afterTheEnd: (() => void)[] = [];
  #index = -1;

  constructor(
    scene: Scene,
    steps: readonly PathStep[],
    machine: AnyStateMachine,
    abort: () => void,
    plays: Readonly<Record<'turn' | 'compaction', ChildPlay>> = {
      turn: turnPlay(scene, steps),
      compaction: compactionPlay(scene, steps),
    },
  ) {
    this.#scene = scene;
    this.#steps = steps;
    this.#abort = abort;
    this.#owners = ownersOf(machine.root);
    this.#plays = plays;
    this.logic = {
      ...Object.fromEntries(Object.entries(stateWork).map(([name, work]) => [name, this.#holding(name, work)])),
      ...Object.fromEntries(Object.entries(this.#plays).map(([name, play]) => [name, this.#child(name, play)])),
    };
  }

  /** Makes the step happen. */
  async take(step: PathStep, index: number): Promise<void> {
    this.#index = index;
    for (const name of this.#planned) this.#scene.controlled.script.plan(name, []);
    this.#planned = [];
    this.answerLate();
    const actor = actorOf(step.event.type);
    if (actor !== null) {
      this.#mark();
      return this.#end(actor, step);
    }
    for (const [name, owner] of this.#owners) {
      if (!isWithin(step.next, owner)) await this.#hang(name);
    }
    const child = step.state.startsWith('turning') ? 'turn' : 'compaction';
    const inChild = /^(?:turning|compacting)\./.test(step.state);
    if (inChild && this.#standIns.has(child)) this.#force('the real machine is not there any more, or never was');
    if (step.state === 'turning.running' || step.state === 'compacting.working') {
      await this.#plays[child]?.prepareStop();
      await this.#scene.rest();
    }
    this.#mark();
    if (delayOf(step) !== null) this.#scene.controlled.clock.increment(DUE);
    else this.#abort();
  }

  /** The step has come about by itself. */
  skip(index: number): void {
    this.#index = index;
    this.#mark();
  }

  #mark(): void {
    this.callsBefore[this.#index] = this.#scene.controlled.script.calls.length;
  }

  /** Ports that hung when their state was left answer now: nobody may hear it any more. */
  answerLate(): void {
    for (const answer of this.#late) answer();
    this.#late = [];
  }

  /** The last ports answer when the attempt is long over. */
  answerAfterTheEnd(): void {
    for (const answer of this.#afterTheEnd) answer();
  }

  /** Actors whose work is held and was not given up. */
  live(): string[] {
    return [...this.#held].filter(([, { signal }]) => !signal.aborted).map(([name]) => name);
  }

  /** The real work of a state, held until `go`. */
  #holding(name: string, work: StateWork<unknown>): AnyActorLogic {
    return fromPromise<unknown, ActorInput>(async ({ input, signal }) => {
      const order = await new Promise<Order>((resolve, reject) => {
        this.#held.set(name, { signal, go: resolve });
        signal.addEventListener('abort', () => reject(new Error(`${name} was held when its state was left`)));
      });
      const output = await work({ input, signal });
      if (order.wanted === null || ('error' in order.wanted && !order.forced)) return output;
      if ('error' in order.wanted) throw order.wanted.error;
      if (isSame(output, order.wanted.output)) return output;
      this.#force(`the work came to ${JSON.stringify(output)}`);
      return order.wanted.output;
    });
  }

  #force(why: string): void {
    this.forced.push({ step: this.#index, label: this.#steps[this.#index]?.label ?? '', why });
  }

  #plan(plan: Plan): void {
    for (const [name, steps] of Object.entries(plan)) {
      this.#scene.controlled.script.plan(name, steps);
      this.#planned.push(name);
    }
  }

  #end(actor: string, step: PathStep): void {
    const play = this.#plays[actor];
    if (play !== undefined) {
      const standIn = this.#standIns.get(actor);
      if (standIn === undefined) play.end(step);
      else {
        this.#force('the real machine cannot come to it here');
        standIn.end(step.event);
      }
      return;
    }
    const held = this.#held.get(actor);
    const plans = WORK_PLANS[actor];
    if (held === undefined || plans === undefined) throw new Error(`the work of ${actor} is not held`);
    this.#held.delete(actor);
    const failed = 'error' in step.event;
    const plan = failed ? plans.error(this.#scene, step) : (plans.done?.(this.#scene, step) ?? {});
    if (plan !== null) this.#plan(plan);
    if (failed && plan === null) this.#force('no port can bring it about here');
    const { output, error } = step.event as { output?: unknown; error?: unknown };
    held.go({ wanted: failed ? { error } : { output }, forced: plan === null });
  }

  /** The work runs, and hangs in one of its ports. Work that calls none stays held, which is the same to the machine. */
  async #hang(actor: string): Promise<void> {
    const held = this.#held.get(actor);
    const ports = WORK_PLANS[actor]?.hangs(this.#scene) ?? [];
    const [first, ...more] = ports;
    if (held === undefined || held.signal.aborted || first === undefined) return;
    this.#held.delete(actor);
    const port = this.#scene.pick([first, ...more]);
    this.#plan({ [port]: [this.#hanging()] });
    held.go({ wanted: null, forced: false });
    await this.#scene.rest();
    await this.#scene.reached?.(port);
  }

  /** A port that gives up when it is told to, and three that answer too late: soon, with an error, and after the end. */
  #hanging(): Step {
    const kind = this.#scene.pick(['polite', 'soon', 'error', 'after the end'] as const);
    if (kind === 'polite') return hang;
    const held = gate();
    if (kind === 'after the end') this.#afterTheEnd.push(held.pass);
    else this.#late.push(kind === 'soon' ? held.pass : () => held.fail('too late'));
    return held.step;
  }

  /** The child machine, or what stands for it where it cannot end as the path says. */
  #child(name: string, play: ChildPlay): AnyActorLogic {
    const chosen = new WeakMap<object, AnyActorLogic>();
    const logicOf = (self: object): AnyActorLogic => {
      const logic = chosen.get(self);
      if (logic === undefined) throw new Error(`${name} was not begun`);
      return logic;
    };
    return {
      getInitialSnapshot: (scope, input) => {
        const stand = play.begin(this.#index, input);
        this.#standIns.delete(name);
        let logic: AnyActorLogic;
        if (stand.forced) {
          const standIn = createStandIn();
          this.#standIns.set(name, standIn);
          logic = standIn.logic;
        } else logic = stand.logic;
        chosen.set(scope.self, logic);
        return logic.getInitialSnapshot(scope, input);
      },
      start: (snapshot, scope) => logicOf(scope.self).start?.(snapshot, scope),
      transition: (snapshot, event, scope) => logicOf(scope.self).transition(snapshot, event, scope),
      getPersistedSnapshot: (snapshot) => snapshot,
    };
  }
}

/** Which state invokes which actor. */
function ownersOf(node: AnyStateNode, path: readonly string[] = []): ReadonlyMap<string, string> {
  const own = node.invoke.map(({ id }): [string, string] => [id, path.join('.')]);
  const inner = Object.entries(node.states).flatMap(([key, state]) => [...ownersOf(state, [...path, key])]);
  return new Map([...own, ...inner]);
}

const isWithin = (state: string, owner: string): boolean => state === owner || state.startsWith(`${owner}.`);

/** Whether an output says what the path wants to hear; what guards do not read may differ. */
function isSame(output: unknown, wanted: unknown): boolean {
  if (typeof wanted !== 'object' || wanted === null) return true;
  const real = (typeof output === 'object' && output !== null ? output : {}) as Record<string, unknown>;
  return Object.entries(wanted)
    .filter(([key]) => key !== 'code')
    .every(([key, value]) => real[key] === value);
}
