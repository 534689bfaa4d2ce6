/** One promise of an engine. `spec`: where the host relies on it. */
export interface Clause {
  id: string;
  title: string;
  spec: string;
}

/** What `conform` looks at, in the order of its report. Renaming one is a breaking change. */
export const CLAUSES = [
  { id: 'members', title: 'what the engine says of itself is whole and fits together', spec: 'D1, D5' },
  { id: 'answers', title: 'every call is answered, none throws', spec: 'E1' },
  { id: 'hangs', title: 'every call ends in time', spec: 'E1' },
  { id: 'inside', title: 'nothing is thrown outside of a call, and the process is left alone', spec: 'E1' },
  { id: 'event-loop', title: 'no call blocks the event loop', spec: 'E1' },
  { id: 'shapes', title: 'answers have the shapes of the contract', spec: 'L3, D1, K1' },
  { id: 'inputs', title: 'what a call was given is left as it was', spec: 'L3' },
  { id: 'determinism', title: 'equal state and equal input assemble to the same, also in another process', spec: 'P4' },
  { id: 'empty-history', title: 'a session without any message is assembled too', spec: 'L3' },
  { id: 'available-tools', title: 'availableTools is taken as a Set, empty or not', spec: 'L3' },
  { id: 'text', title: 'text of any kind comes back as it was', spec: 'P4' },
  { id: 'tool-pairs', title: 'a tool call and its result are kept together', spec: 'L3' },
  { id: 'budget', title: 'the assembly fits the token budget', spec: 'L3' },
  { id: 'one-finalizer', title: 'one finalizer is enough: the turn is known afterwards, once', spec: '2.10, D1' },
  { id: 'commit-idempotent', title: 'a turn that is committed again is stored once', spec: 'D1, D3' },
  { id: 'commit-atomic', title: 'a commit that is refused leaves nothing behind', spec: 'D1' },
  { id: 'heartbeat', title: 'a heartbeat turn is not stored', spec: '2.10' },
  { id: 'unfinished-turns', title: 'turns that fail, are aborted or yield do no harm', spec: 'M4, D3' },
  { id: 'bootstrap-twice', title: 'bootstrap may run again and takes nothing in twice', spec: 'L2' },
  { id: 'compact', title: 'compact makes no less room and keeps the newest turn', spec: 'K1' },
  { id: 'restart', title: 'an engine that is loaded anew between any two calls knows the same', spec: 'D3' },
  { id: 'epoch', title: 'the epoch changes with the projected context, not with turns and prompts', spec: 'P7' },
  { id: 'dispose', title: 'dispose may be called twice', spec: 'E3' },
] as const satisfies readonly Clause[];

export type ClauseId = (typeof CLAUSES)[number]['id'];
