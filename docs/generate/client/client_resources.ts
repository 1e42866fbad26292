import { queryTypeOf } from './client_types.ts'
import { GENERATED_CODE } from './generated_code.ts'
import { type Method, readMethods } from './read_methods.ts'
import { commentText } from './type_text.ts'

/** Generates the classes of the client, one per resource, with a method for each operation. */
export function clientResources(): string {
  const methods = readMethods()
  const resources = Map.groupBy(methods, ({ resource }) => resource)
  const names = [...resources.keys()]
  // The classes of nested resources come first.
  const classes = [...resources]
    .sort(([one], [other]) => depthOf(other) - depthOf(one))
    .map(([name, methods]) => classText(name, methods, names))
  const imports = [
    "import type { Pages } from '../calls/pages.ts'",
    "import type { BatchOptions, KeyedOptions, Options } from '../calls/options.ts'",
    "import { part, Resource } from '../calls/resource.ts'",
    "import type * as api from './types.ts'",
  ]
  return `${[GENERATED_CODE, imports.join('\n'), ...classes, allText(names)].join('\n\n')}\n`
}

function depthOf(resource: string): number {
  return resource.split('.').length
}

/** Returns the name of a class: `ContactImports` for `contacts.imports`. */
function classOf(resource: string): string {
  const words = resource.split('.').map(word => word.replace(/^./, letter => letter.toUpperCase()))
  return [...words.slice(0, -1).map(word => word.replace(/s$/, '')), words.at(-1)].join('')
}

/** Returns the resources as members of a class, for one resource or for all. */
function membersText(names: string[], caller: string): string[] {
  return names.map(name => `  readonly ${name.split('.').at(-1)} = new ${classOf(name)}(${caller})`)
}

function classText(name: string, methods: Method[], names: string[]): string {
  const within = names.filter(other => other.startsWith(`${name}.`))
  const members = [...membersText(within, 'this.caller'), ...methods.map(methodText)]
  return `export class ${classOf(name)} extends Resource {\n${members.join('\n\n')}\n}`
}

function allText(names: string[]): string {
  const top = names.filter(name => depthOf(name) === 1)
  return [
    '/** All resources of the API. */',
    'export class Resources extends Resource {',
    ...membersText(top, 'this.caller'),
    '}',
  ].join('\n')
}

function methodText(method: Method): string {
  const { name, http_method, path, summary, description, answer } = method
  const words = [`${summary}.`, description, `\`${http_method} ${path}\``].filter(Boolean).join(' ')
  const query = queryTypeOf(method)
  const given = [
    method.body && 'body',
    query && 'query',
    method.is_keyed && 'keyed: true',
    http_method === 'DELETE' && removesText(method),
  ].filter(Boolean)
  const input = `{ ${given.join(', ')} }`
  const url = path.includes('{') ? `\`${path.replaceAll(/\{(\w+)\}/g, (_, id) => `\${part(${id})}`)}\`` : `'${path}'`
  const call = {
    record: `this.call('${http_method}', ${url}, ${given.length > 0 ? input : '{}'}, options)`,
    page: `this.pages(${url}, ${query ? 'query' : '{}'}, options)`,
    file: `this.file(${url}, ${query ? 'query' : '{}'}, options)`,
  }[answer.kind]
  return [
    ...commentText(words, '  '),
    `  ${name}(${argumentsOf(method).join(', ')}): ${answerText(method)} {`,
    `    return ${call}`,
    '  }',
  ].join('\n')
}

/** What a DELETE removes: the record that the end of its path names. */
function removesText({ ids, answer }: Method): string {
  const object = answer.kind === 'record' ? answer.object : undefined
  const { name } = ids.at(-1) ?? {}
  if (!object || !name) throw new Error('The response to a DELETE has no `object`, or its path no id.')
  return `removes: { object: '${object}', ${name === 'id' ? 'id' : `id: ${name}`} }`
}

function answerText({ answer }: Method): string {
  if (answer.kind === 'file') return 'Promise<Response>'
  return answer.kind === 'page' ? `Pages<api.${answer.type}>` : `Promise<api.${answer.type}>`
}

function argumentsOf(method: Method): string[] {
  const { ids, body, query, is_keyed, has_batch_validation } = method
  const type = queryTypeOf(method)
  const options = has_batch_validation ? 'BatchOptions' : is_keyed ? 'KeyedOptions' : 'Options'
  return [
    ...ids.map(({ name }) => `${name}: string`),
    ...(body ? [`body: ${bodyText(body)}${body.is_required ? '' : ' = {}'}`] : []),
    ...(type ? [`query: api.${type}${query.some(({ required }) => required) ? '' : ' = {}'}`] : []),
    `options?: ${options}`,
  ]
}

function bodyText({ type, form }: NonNullable<Method['body']>): string {
  return form ? `api.${type} | api.${form}` : `api.${type}`
}
