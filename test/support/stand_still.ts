const never = new Int32Array(new SharedArrayBuffer(4))

/** Blocks this process for this many milliseconds, as if it were stopped or swapped out. */
export function standStill(ms: number): void {
  Atomics.wait(never, 0, 0, ms)
}
