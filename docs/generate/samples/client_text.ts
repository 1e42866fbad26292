import type { Method } from '../client/read_methods.ts'
import { literalText } from './literal_text.ts'
import { placeholderOf, sampleOf } from './read_samples.ts'

/** Returns an example call with the client library. */
export function clientText(method: Method): string {
  const { resource, name, ids, answer } = method
  const { body, query } = sampleOf(method)
  const args = [
    ...ids.map(({ name }) => literalText(placeholderOf(name), 'code')),
    ...(body === undefined ? [] : [literalText(body, 'code')]),
    ...(Object.keys(query).length > 0 ? [literalText(query, 'code')] : []),
  ]
  const call = `client.${resource}.${name}(${args.join(', ')})`
  if (answer.kind === 'page') return `for await (const item of ${call}) {\n  console.log(item)\n}`
  return answer.kind === 'file' ? `const response = await ${call}` : `const result = await ${call}`
}
