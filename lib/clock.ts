/** When performance.now() was 0, in ms since 1970: by this machine's clock until the database's time is known. */
let origin = performance.timeOrigin

/**
 * Returns the current time by the database's clock, as far as this process knows it (flows/process/sync_clock.ts). Times are
 * compared with times that Postgres stored, and this machine's clock may be wrong or be changed at any moment.
 */
export function now(): Date {
  return new Date(origin + performance.now())
}

/** Sets the clock: it was `time`, in ms since 1970, when performance.now() was `at`. */
export function setClock(time: number, at: number): void {
  origin = time - at
}
