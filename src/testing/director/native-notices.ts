type Notify = (method: string, params: Readonly<Record<string, unknown>>) => void;

/** What the app-server says of one native compaction, in the order in which it says it. */
export interface NativeNotices {
  /** `turn/started`, unless it was said before. */
  begins(): void;
  compacts(): void;
  endsWithoutItem(): void;
  isInterrupted(): void;
}

/** A compaction of this thread, in a turn of its own. */
export function nativeNotices(notify: Notify, threadId: string): NativeNotices {
  const turn = { id: 'compaction-1', status: 'completed', items: [] };
  const item = { type: 'contextCompaction', id: 'compaction-item' };
  let hasBegun = false;
  const tell = (method: string, params: object): void => notify(method, { threadId, ...params });
  const begins = (): void => {
    if (!hasBegun) tell('turn/started', { turn: { ...turn, status: 'inProgress' } });
    hasBegun = true;
  };
  const ends = (status: string): void => tell('turn/completed', { turn: { ...turn, status } });
  return {
    begins,
    compacts() {
      begins();
      tell('item/started', { turnId: turn.id, item });
      tell('item/completed', { turnId: turn.id, item });
      ends('completed');
    },
    endsWithoutItem() {
      begins();
      ends('completed');
    },
    isInterrupted() {
      begins();
      ends('interrupted');
    },
  };
}
