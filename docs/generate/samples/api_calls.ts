import { readMethods } from '../client/read_methods.ts'
import { clientText } from './client_text.ts'
import { commandText } from './command_text.ts'
import { curlText } from './curl_text.ts'

/** Placeholder that a server replaces with its own address. */
const BASE_URL = 'http://localhost:3000'

/** Generates docs/generated/api_calls.json: example calls of each operation, by its heading in docs/api.md. */
export function apiCalls(): string {
  const calls = readMethods().map(method => [
    method.summary,
    {
      id: method.operation_id,
      curl: curlText(method, BASE_URL),
      client: clientText(method),
      command: commandText(method),
    },
  ])
  return `${JSON.stringify(Object.fromEntries(calls), null, 2)}\n`
}
