import cluster, { type Worker } from 'node:cluster'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Running } from '#flows/process/run_process.ts'
import { AlreadyToldError } from '#lib/errors.ts'

/** A process that ends is replaced after this time: no busy loop of crashes. */
const REPLACE_AFTER_MS = 1_000

/**
 * Forks so many copies of this process, which share its port. Replaces those that end, stops them when it is stopped;
 * fails if they cannot start at all.
 */
export function forkProcesses(count: number): Running {
  const stopping = new AbortController()
  const { signal } = stopping

  const keepRunning = async (forked: Worker): Promise<void> => {
    for (let worker = forked; ; worker = cluster.fork()) {
      await exited(worker)
      await sleep(REPLACE_AFTER_MS, undefined, { signal }).catch(() => {})
      if (signal.aborted) return
    }
  }

  // The first one alone: what keeps it from starting would keep all of them, and each would say so.
  const runAll = async (): Promise<void> => {
    const first = cluster.fork()
    const listens = new Promise(resolve => first.once('listening', resolve))
    await Promise.race([listens, exited(first)])
    if (first.isDead() && !signal.aborted) throw new AlreadyToldError()
    const others = Array.from({ length: signal.aborted ? 0 : count - 1 }, () => cluster.fork())
    await Promise.all([first, ...others].map(keepRunning))
  }

  const all = runAll()
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
  return new Promise(resolve => {
    if (worker.isDead()) resolve()
    else worker.once('exit', () => resolve())
  })
}
