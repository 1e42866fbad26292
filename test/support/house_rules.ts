import { posix } from 'node:path'

/** Source files by their paths, such as `lib/mail/address.ts`. */
export type Tree = ReadonlyMap<string, string>

/** A broken rule. `key` is its name in a table of exceptions. */
export type Fault = { key: string; because: string }

type Import = { from: string; to: string }

/** The layers that each layer may import. */
const LAYERS: Record<string, string[]> = {
  client: [],
  lib: [],
  sql: ['lib'],
  flows: ['sql', 'lib'],
  api: ['flows', 'sql', 'lib'],
  tasks: ['flows', 'sql', 'lib'],
  docs: ['api', 'client', 'lib'],
  web: ['docs', 'api', 'client', 'flows', 'sql', 'lib'],
  workers: ['web', 'api', 'tasks', 'flows', 'sql', 'lib'],
  test: ['client', 'docs', 'workers', 'web', 'api', 'tasks', 'flows', 'sql', 'lib'],
}

/** Static imports, including types, imports in types or at run time, and files that are started as threads. */
const IMPORT = /(?:\bfrom |\bimport |\bimport\(|\bnew URL\()'([^']+)'/g
const FOREIGN = /^(?:koa|@koa\/.*|slonik|@slonik\/.*|pg|graphile-worker)$/
const COMMENT = /^\s*(?:\/\/|\/?\*)/
/** The first line of a function or a method, or the last line of a head with several lines. */
const HEAD =
  /^\s*(?:(?:export |default |async |static |override |get |set )*(?:function\b|(?!new\b|super\b)[#\w*]+(?:<.*>)?\()|[)}\]])/
/** A line that polls and sleeps until a condition is true. */
const POLL = /^\s*(?:while \(.*\) await (?:sleep|new Promise)\(|for \(.*; await sleep\(\w+\)\))/
const CONTROL = /^\s*(?:\} )?(?:if|else|for|while|switch|catch|try|finally|do|with)\b/

/** Finds imports of other layers than those below, and packages that lib must not import. */
export function findLayerFaults(tree: Tree): Fault[] {
  const unknown = [...tree.keys()].filter(path => !LAYERS[layerOf(path)])
  const faults = listImports(tree).filter(({ from, to }) => {
    const [layer, other] = [layerOf(from), layerOf(to)]
    const isForeign = layer === 'lib' && FOREIGN.test(to)
    return isForeign || (tree.has(to) && layer !== other && !LAYERS[layer]?.includes(other))
  })
  return [
    ...unknown.map(path => fault(path, 'its layer is not known')),
    ...faults.map(({ from, to }) => fault(`${from} -> ${to}`, `${layerOf(from)} must not import it`)),
  ]
}

/**
 * Inside a layer a room imports only rooms to its left in `order`. A file beside the rooms, such as lib/config.ts, belongs to
 * the room with its name, otherwise to the room `top`. Layers without an order have no rooms.
 */
export function findRoomFaults(tree: Tree, order: Record<string, string>): Fault[] {
  const placeOf = (path: string): number => {
    const [layer = '', entry = '', file] = path.split('/')
    const rooms = order[layer]?.split(' ') ?? []
    const name = entry.replace(/\.\w+$/, '')
    return rooms.indexOf(file || rooms.includes(name) ? name : 'top')
  }
  const paths = [...tree.keys()].filter(path => order[layerOf(path)] && path.endsWith('.ts'))
  const unplaced = paths.filter(path => placeOf(path) === -1)
  const faults = listImports(tree).filter(({ from, to }) => {
    return layerOf(from) === layerOf(to) && placeOf(from) !== -1 && placeOf(to) > placeOf(from)
  })
  return [
    ...unplaced.map(path => fault(path, 'its room has no place in the order')),
    ...faults.map(({ from, to }) => fault(`${from} -> ${to}`, 'this room is to the right')),
  ]
}

/** Finds circles of imports between files, including types. The key is the import that closes the circle. */
export function findCircles(tree: Tree): Fault[] {
  const next = Map.groupBy(listImports(tree), ({ from }) => from)
  const done = new Set<string>()
  const faults: Fault[] = []
  const visit = (path: string, way: string[]): void => {
    if (way.includes(path)) {
      const circle = [...way.slice(way.indexOf(path)), path]
      faults.push(fault(`${way.at(-1)} -> ${path}`, circle.join(' -> ')))
    } else if (!done.has(path)) {
      for (const { to } of next.get(path) ?? []) visit(to, [...way, path])
      done.add(path)
    }
  }
  for (const path of tree.keys()) visit(path, [])
  return faults
}

export function findLongFiles(tree: Tree, max: number): Fault[] {
  return [...tree].flatMap(([path, text]) => {
    const length = text.trimEnd().split('\n').length
    return length > max ? [fault(path, `${length} lines`)] : []
  })
}

/** Relies on the formatter: the first and the last line of a function have the same indentation, and no line between has it. */
export function findLongFunctions(tree: Tree, max: number): Fault[] {
  return [...tree].flatMap(([path, text]) => {
    const lines = path.endsWith('.ts') ? text.split('\n') : []
    return lines.flatMap((line, at) => {
      if (!opensFunction(line)) return []
      const indent = /^\s*/.exec(line)?.[0] as string
      const start = lines.findLastIndex(
        (other, n) => n <= at && other.startsWith(indent) && /^[^\s)\]}]/.test(other.slice(indent.length)),
      )
      const end = lines.findIndex((other, n) => n > at && other.startsWith(`${indent}}`))
      const head = lines[start] as string
      const length = end - start + 1
      return length > max && !CONTROL.test(head) ? [fault(`${path} ${nameOf(head)}`, `${length} lines`)] : []
    })
  })
}

/** Finds loops that poll on one line. A test that uses `waitUntil` instead ends at a limit and names what it waited for. */
export function findPolls(tree: Tree): Fault[] {
  return [...tree].flatMap(([path, text]) =>
    text.split('\n').flatMap(line => (POLL.test(line) ? [fault(path, `${line.trim()}: call waitUntil`)] : [])),
  )
}

export function findFullFolders(tree: Tree, max: number): Fault[] {
  const folders = Map.groupBy(tree.keys(), path => posix.dirname(path))
  return [...folders].flatMap(([path, files]) => (files.length > max ? [fault(path, `${files.length} files`)] : []))
}

export function fault(key: string, because: string): Fault {
  return { key, because }
}

function layerOf(path: string): string {
  return path.split('/')[0] as string
}

/** `to` is a path in the tree or the name of a package. */
function listImports(tree: Tree): Import[] {
  return [...tree].flatMap(([from, text]) => {
    const found = text.split('\n').flatMap(line => (COMMENT.test(line) ? [] : [...line.matchAll(IMPORT)]))
    return found.map(([, name = '']) => ({ from, to: resolve(from, name) }))
  })
}

/** Returns the path in the tree that `name` stands for, or the name of a package. */
export function resolve(from: string, name: string): string {
  if (name.startsWith('#')) return name.slice(1)
  return name.startsWith('.') ? posix.join(posix.dirname(from), name) : name
}

function opensFunction(line: string): boolean {
  if (COMMENT.test(line) || CONTROL.test(line)) return false
  return /=> \{$/.test(line) || (/[\w)>\]}] \{$/.test(line) && HEAD.test(line))
}

function nameOf(line: string): string {
  const [, name] =
    /^\s*(?:(?:export|default|async|static|override|get|set|const|function\*?) )*(#?\w+)/.exec(line) ?? []
  return name ?? line.trim()
}
