/** Milliseconds between two looks at the event loop; also the error of the measurement. */
const INTERVAL_MS = 100;

/**
 * Measures how long the event loop stood still, from now until `stop`. A timer that does not fire in time tells it, and
 * so does the end itself: an engine that awaits nothing but microtasks lets no timer fire at all. Real time on purpose.
 */
export function watchEventLoop(): { stop(): number } {
  let last = performance.now();
  let longest = 0;
  const look = (): void => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  };
  const timer = setInterval(look, INTERVAL_MS);
  timer.unref();
  return {
    /** The longest standstill in milliseconds. */
    stop() {
      clearInterval(timer);
      look();
      return longest <= INTERVAL_MS ? 0 : longest;
    },
  };
}
