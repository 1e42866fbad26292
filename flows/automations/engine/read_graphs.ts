import { LRUCache } from 'lru-cache'
import type { Graph } from '#lib/automations/graph.ts'
import { listVersions, type VersionId } from '#sql/automations/engine/automations.ts'
import type { Tx } from '#sql/pool.ts'

/** Bytes of graphs that a process remembers, as JSON. */
const CACHE_SIZE = 32 << 20

/** The graph of a version never changes. */
const graphs = new LRUCache<string, Graph>({
  maxSize: CACHE_SIZE,
  sizeCalculation: graph => JSON.stringify(graph).length,
})

/** Returns the graphs of versions by `graphKey`. */
export async function readGraphs(tx: Tx, versions: VersionId[]): Promise<Map<string, Graph>> {
  const wanted = new Map(versions.map(version => [graphKey(version), version]))
  const found = new Map<string, Graph>()
  for (const key of wanted.keys()) {
    const graph = graphs.get(key)
    if (graph) found.set(key, graph)
  }
  const missing = [...wanted].filter(([key]) => !found.has(key)).map(([, version]) => version)
  for (const { graph, ...version } of await listVersions(tx, missing)) {
    graphs.set(graphKey(version), graph)
    found.set(graphKey(version), graph)
  }
  return found
}

export function graphKey({ account_id, automation_id, version }: VersionId): string {
  return `${account_id} ${automation_id} ${version}`
}
