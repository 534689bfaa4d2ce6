const NOTHING_FOLLOWS =
  'The edge has neither target nor action: it says that nothing follows from this end. Without it nothing follows either.';
const OUTCOMES_EXCLUDE =
  'Each guard asks for another outcome, and there is only one. Both transitions have the same action.';

/** Mutants that do what the machine itself does, by name, each with the reason. One that is killed must not be here. */
export const equivalent: Readonly<Record<string, string>> = {
  'attempt: finalizing.settled always: #3 before #2': OUTCOMES_EXCLUDE,
  'attempt: finalizing.settled always: #4 before #3': OUTCOMES_EXCLUDE,
  'attempt: compacting.settled always: #2 before #1':
    'roomWasMade asks for an attempt that nobody stopped, turnStoppedByAbort for one that was aborted.',
  'turn: interrupting done interrupt: dropped': NOTHING_FOLLOWS,
  'app-server: draining.closing done endInput: dropped': NOTHING_FOLLOWS,
  'app-server: draining.terminating done terminate: dropped': NOTHING_FOLLOWS,
  'app-server: draining.killing done kill: dropped': NOTHING_FOLLOWS,
};
