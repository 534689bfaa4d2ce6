/** A promise that a test opens by hand. */
export interface Gate {
  readonly opened: Promise<void>;
  open(): void;
}

export function gate(): Gate {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}

/** Never settles: a step that hangs. */
export const hanging = (): Promise<never> => new Promise(() => {});
