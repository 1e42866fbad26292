import { readMethods } from '../client/read_methods.ts'
import { clientText } from './client_text.ts'
import { commandText } from './command_text.ts'
import { curlText } from './curl_text.ts'

/** Where a server puts its own address. */
const BASE_URL = 'http://localhost:3000'

/** Makes docs/generated/api_calls.json: each operation by its heading in docs/api.md, with its calls. */
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
