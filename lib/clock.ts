/** The moment at which performance.now() was 0, in ms since 1970. By this machine's clock until the database's is known. */
let origin = performance.timeOrigin

/**
 * Now, by the database's clock, as far as this process knows it (flows/process/sync_clock.ts). What was sent and stored is judged by
 * that clock alone; this machine's may be wrong, and may be set anew at any moment.
 */
export function now(): Date {
  return new Date(origin + performance.now())
}

/** It was `time`, in ms since 1970, when performance.now() was `at`. */
export function setClock(time: number, at: number): void {
  origin = time - at
}
