import type { Method } from '../client/read_methods.ts'
import { literalText } from './literal_text.ts'
import { placeholderOf, sampleOf } from './read_samples.ts'
import { shellWord } from './shell_text.ts'

/** Returns an example call with curl. */
export function curlText(method: Method, base_url: string): string {
  const { http_method, path, answer } = method
  const { body, query } = sampleOf(method)
  const search = new URLSearchParams(query).toString()
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name) => placeholderOf(name))
  const isPlain = http_method === (body === undefined ? 'GET' : 'POST')
  const head = ['curl', ...(isPlain ? [] : ['-X', http_method]), ...(answer.kind === 'file' ? ['-OJ'] : [])]
  const url = `${base_url}/api${filled}${search ? `?${search}` : ''}`
  return [
    `${head.join(' ')} ${shellWord(url)}`,
    "-H 'Authorization: Bearer mb_...'",
    ...(body === undefined
      ? []
      : ["-H 'Content-Type: application/json'", `-d ${shellWord(literalText(body, 'json', '  '))}`]),
  ].join(' \\\n  ')
}
