/** The signals that ask a command to stop. */
const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export type StopSignal = (typeof STOP_SIGNALS)[number];

/** Tells every stop signal from now on; the returned function takes the listener away and the defaults back. */
export type StopSignals = (listener: (signal: StopSignal) => void) => () => void;

/** The stop signals of this process. */
export const processSignals: StopSignals = (listener) => {
  for (const signal of STOP_SIGNALS) process.on(signal, listener);
  return () => {
    for (const signal of STOP_SIGNALS) process.off(signal, listener);
  };
};
