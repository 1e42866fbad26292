import { setTimeout as sleep } from 'node:timers/promises'

await sleep(1_500)

/** A worker thread that takes longer to start than its calls may take. */
export default function run(what: string): string {
  return what
}

/** See `Threads`. */
export function ready(): void {}
