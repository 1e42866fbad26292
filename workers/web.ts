import cluster from 'node:cluster'
import { forkProcesses } from '#api/cluster.ts'
import { startServer } from '#api/server.ts'
import { type Running, startOnFoundation, superviseProcess } from '#flows/process/run_process.ts'
import { readConfig } from '#lib/config.ts'
import { createSite } from '#web/site.ts'

/** Starts the API and the pages for people, in WEB_CONCURRENCY processes. */
async function start(): Promise<Running> {
  const { WEB_CONCURRENCY } = readConfig()
  if (WEB_CONCURRENCY > 1 && cluster.isPrimary) return forkProcesses(WEB_CONCURRENCY)
  return startOnFoundation(foundation => startServer(foundation, createSite))
}

await superviseProcess(start)
