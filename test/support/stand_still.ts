const never = new Int32Array(new SharedArrayBuffer(4))

/** Keeps this process from doing anything for so many milliseconds, as one that is stopped or swapped out. */
export function standStill(ms: number): void {
  Atomics.wait(never, 0, 0, ms)
}
