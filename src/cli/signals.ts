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

/** Takes the signals from now on, and gives those that came in the meantime to the one listener that it gets later. */
export function rememberedSignals(signals: StopSignals): StopSignals {
  const early: StopSignal[] = [];
  let listener: (signal: StopSignal) => void = (signal) => void early.push(signal);
  const release = signals((signal) => listener(signal));
  return (given) => {
    listener = given;
    for (const signal of early.splice(0)) given(signal);
    return release;
  };
}
