const NOTHING_FOLLOWS =
  'The edge has neither target nor action: it says that nothing follows from this end. Without it nothing follows either.';
const OUTCOMES_EXCLUDE =
  'Each guard asks for another outcome, and there is only one. Both transitions have the same action.';

const ONLY_WHILE_PORTS_HANG =
  'Read meanwhile only by who does not wait for it: it differs while the hooks, the journal or the binding hang.';
const ONLY_AFTER_A_FAILED_WRITE =
  'Differs only after a write that failed: the next one begins from a binding that was not written.';

/**
 * Mutants that do what the product itself does, and a few that other tests find than the paths, which are named. By name,
 * each with the reason. One that is killed must not be here.
 */
export const equivalent: Readonly<Record<string, string>> = {
  'actors: bootstrap.ts: const binding = await session.bindings.read() before contractNotices(record.services.engine).forEach(notice)':
    'The notice depends on the engine alone.',
  'actors: recovering.ts: await queueOwedCommit(record, intent, view, signal) dropped':
    'Found by test/states/attempt-durable.test.ts: no path begins with a turn that was accepted before a crash.',
  'actors: compacting.ts: await keepTrack(record, adoptSuccessor(record, result, record.controller.signal)) dropped':
    'Found by test/states/session-successor.test.ts: no path has an engine that names a successor of the session.',
  'actors: turn-started.ts: slots.binding = binding before await services.session.bindings.write(binding)':
    ONLY_AFTER_A_FAILED_WRITE,
  'actors: turn-started.ts: await record.services.session.bindings.write(left) dropped':
    'Found by test/faults/prompt.test.ts: no path has a picture that the model cannot read.',
  'actors: turn-started.ts: record.slots.binding = left before await record.services.session.bindings.write(left)':
    ONLY_AFTER_A_FAILED_WRITE,
  'actors: mirroring.ts: const passed = await passRows(record, made, signal) before record.slots.mirrored = { ok: false, rows: made, entryIds: [], blocked: null, view: null }':
    ONLY_WHILE_PORTS_HANG,
  'actors: mirroring.ts: if (blocked === null) await oweCommit(record, signal) before record.slots.mirrored = { ok: false, rows, entryIds: [], blocked, view: null }':
    ONLY_WHILE_PORTS_HANG,
  'actors: mirroring.ts: await keepBinding(record, view) before record.slots.mirrored = { ok: true, rows: stored, entryIds, blocked, view }':
    ONLY_WHILE_PORTS_HANG,
  'actors: finalizing.ts: const answer = await call before keepTrack(record, call)':
    'The attempt waits for more than this at its end: it differs only while the queue of a durable engine hangs.',
  'attempt: finalizing.settled always: #3 before #2': OUTCOMES_EXCLUDE,
  'attempt: finalizing.settled always: #4 before #3': OUTCOMES_EXCLUDE,
  'attempt: compacting.settled always: #2 before #1':
    'roomWasMade asks for an attempt that nobody stopped, turnStoppedByAbort for one that was aborted.',
  'turn: interrupting done interrupt: dropped': NOTHING_FOLLOWS,
  'app-server: draining.closing done endInput: dropped': NOTHING_FOLLOWS,
  'app-server: draining.terminating done terminate: dropped': NOTHING_FOLLOWS,
  'app-server: draining.killing done kill: dropped': NOTHING_FOLLOWS,
};
