import cluster, { type Worker } from 'node:cluster'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Running } from '../flows/run_process.ts'
import { StartupError } from '../lib/errors.ts'

/** A process that ends is replaced after this time: no busy loop of crashes. */
const REPLACE_AFTER_MS = 1_000

/**
 * Forks so many copies of this process, which share its port. Replaces those that end, stops them when it is stopped;
 * fails if they cannot start at all.
 */
export function forkProcesses(count: number): Running {
  const stopping = new AbortController()
  const { signal } = stopping
  let hasListened = false

  const keepRunning = async () => {
    while (!signal.aborted) {
      const worker = cluster.fork()
      worker.once('listening', () => {
        hasListened = true
      })
      await exited(worker)
      if (!hasListened && !signal.aborted) throw new StartupError('No web process could start.')
      await sleep(REPLACE_AFTER_MS, undefined, { signal }).catch(() => {})
    }
  }

  const all = Promise.all(Array.from({ length: count }, keepRunning))
  const failed = new Promise<never>((_resolve, reject) => all.catch(reject))
  failed.catch(() => {})
  return {
    failed,
    async stop() {
      stopping.abort()
      for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill('SIGTERM')
      await all.catch(() => {})
    },
  }
}

function exited(worker: Worker): Promise<void> {
  return new Promise(resolve => worker.once('exit', () => resolve()))
}
