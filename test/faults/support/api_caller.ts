import type { Stage } from './stage.ts'

export type Ask = <Body>(method: string, path: string, body?: object) => Promise<Body>

/** A client of the API with the key of the stage's account. It throws on every refusal. */
export function callerOf(url: string, { account }: Pick<Stage, 'account'>): Ask {
  const headers = {
    authorization: `Bearer ${account.key}`,
    'user-agent': 'faults',
    'content-type': 'application/json',
  }
  return async (method, path, body) => {
    const response = await fetch(`${url}/api${path}`, { method, headers, body: body ? JSON.stringify(body) : null })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
    return JSON.parse(text)
  }
}
