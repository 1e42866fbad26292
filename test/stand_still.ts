/** Keeps this process from doing anything else for so many milliseconds, as loading a large module does. */
export function standStill(ms: number): void {
  const end = performance.now() + ms
  while (performance.now() < end) {}
}
