import { Pool } from 'undici'
import { createSignEvent, newSigningSecret } from '#lib/webhooks/signature.ts'

/** The baseline of `webhooks`: the same signed bodies, posted with undici alone. Prints its rate. */
const { HOOK_URL = '', COUNT = '1000', CALLERS = '16', BODY = '{}' } = process.env
const url = new URL(HOOK_URL)
const body = Buffer.from(BODY)
const sign = createSignEvent(newSigningSecret())
const pool = new Pool(url.origin, { connections: Number(CALLERS) })

async function post(count: number): Promise<number> {
  let left = count
  const start = performance.now()
  const postSome = async () => {
    while (left-- > 0) {
      const signed = sign({ id: String(left), body }, new Date())
      const headers = { 'content-type': 'application/json', 'user-agent': 'bench', ...signed }
      const response = await pool.request({ path: url.pathname, method: 'POST', headers, body })
      await response.body.dump()
    }
  }
  await Promise.all(Array.from({ length: Number(CALLERS) }, postSome))
  return count / ((performance.now() - start) / 1000)
}

await post(Number(COUNT) / 4)
console.log(await post(Number(COUNT)))
await pool.close()
