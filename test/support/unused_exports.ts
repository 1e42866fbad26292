import { type Fault, fault, resolve, type Tree } from './house_rules.ts'

const DECLARED =
  /^export (?:declare |abstract |async )*(default|type|interface|function\*?|class|const|let)(?: (?:function |class )?(\w+))?/gm
const LISTED = /^export (?:type )?\{([^}]*)\}(?! from)/gm
/** `import { a, type B as C } from './d.ts'`, on one or several lines, with or without a default import. */
const NAMED = /^(?:import|export) (?:type )?(?:\w+, )?\{([^}]*)\} from '([^']+)'/gm
const INLINE = /\bimport\('([^']+)'\)\.(\w+)/g
/** Imports everything that a file exports: as a namespace, or at run time. */
const WHOLE =
  /(?:^import (?:type )?\* as \w+ from |^export \* from |\bawait import\(|=> import\(|\bnew URL\()'([^']+)'/gm
const DEFAULT = /^import (?:type )?(\w+)(?:, \{[^}]*\})? from '([^']+)'/gm

/**
 * Finds exports that no other file of the tree imports. A type may be exported if a signature uses it. The key is the path
 * and the name.
 */
export function findUnusedExports(tree: Tree): Fault[] {
  const used = new Set([...tree].flatMap(([path, text]) => listUses(path, text)))
  return [...tree].flatMap(([path, text]) => {
    if (used.has(`${path} *`)) return []
    const unused = listExports(text).filter(name => !used.has(`${path} ${name}`))
    return unused.map(name => fault(`${path} ${name}`, 'no other file imports it'))
  })
}

/** Lists the exports of a file, without types that it uses itself. */
function listExports(text: string): string[] {
  const declared = Map.groupBy(text.matchAll(DECLARED), ([, kind, name = '']) => (kind === 'default' ? kind : name))
  const own = [...declared].flatMap(([name, declarations]) => {
    const isType = declarations.some(([, kind]) => kind === 'type' || kind === 'interface')
    const count = text.match(new RegExp(`\\b${name}\\b`, 'g'))?.length ?? 0
    return isType && count > declarations.length ? [] : [name]
  })
  const listed = [...text.matchAll(LISTED)].flatMap(([, names = '']) => readNames(names).map(({ outside }) => outside))
  return [...own, ...listed]
}

/** Lists the imports of a file as `path name`, with the name `*` if it imports everything. */
function listUses(path: string, text: string): string[] {
  const named = [...text.matchAll(NAMED)].flatMap(([, names = '', from = '']) =>
    readNames(names).map(({ inside }) => `${resolve(path, from)} ${inside}`),
  )
  const inline = [...text.matchAll(INLINE)].map(([, from = '', name]) => `${resolve(path, from)} ${name}`)
  const whole = [...text.matchAll(WHOLE)].map(([, from = '']) => `${resolve(path, from)} *`)
  const defaults = [...text.matchAll(DEFAULT)].map(([, , from = '']) => `${resolve(path, from)} default`)
  return [...named, ...inline, ...whole, ...defaults]
}

/** Reads `a, type B as C`: `inside` is the name in the file that exports it. */
function readNames(names: string): { inside: string; outside: string }[] {
  const items = names.split(',').map(item => item.trim().replace(/^type /, ''))
  return items.filter(Boolean).map(item => {
    const [inside = '', outside = inside] = item.split(' as ')
    return { inside, outside }
  })
}
