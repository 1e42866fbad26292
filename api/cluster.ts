import cluster, { type Worker } from 'node:cluster'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Running } from '#flows/process/run_process.ts'
import { AlreadyLoggedError } from '#lib/errors.ts'

/** Time before a process that ended is replaced, so that crashes cause no busy loop. */
const REPLACE_AFTER_MS = 1_000

/**
 * Forks `count` copies of this process, which share its port. Replaces copies that end, and stops them all when it is stopped.
 * Fails if the first copy cannot start.
 */
export function forkProcesses(count: number): Running {
  const stopping = new AbortController()
  const { signal } = stopping
  // Otherwise this process accepts connections and hands them on. If a process is killed while one is handed to it, that connection
  // stays open, and its client waits forever.
  cluster.schedulingPolicy = cluster.SCHED_NONE

  const keepRunning = async (forked: Worker): Promise<void> => {
    for (let worker = forked; ; worker = cluster.fork()) {
      await exited(worker)
      await sleep(REPLACE_AFTER_MS, undefined, { signal }).catch(() => {})
      if (signal.aborted) return
    }
  }

  // One process starts alone: a fault that prevents it from starting would affect all of them, and each would report it.
  const runAll = async (): Promise<void> => {
    const first = cluster.fork()
    const listens = new Promise(resolve => first.once('listening', resolve))
    await Promise.race([listens, exited(first)])
    if (first.isDead() && !signal.aborted) throw new AlreadyLoggedError()
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
