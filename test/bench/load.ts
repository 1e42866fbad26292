import { Agent, request } from 'undici'

/**
 * The load generator, a process of its own: posts an email so many times over so many connections. Prints when it
 * began (epoch, ms) and the seconds it took.
 */
const { LOAD_URL = '', LOAD_KEY = '', LOAD_COUNT = '1000', LOAD_CONNECTIONS = '32', LOAD_BODY = '{}' } = process.env
const headers = { authorization: `Bearer ${LOAD_KEY}`, 'content-type': 'application/json', 'user-agent': 'bench' }
const agent = new Agent({ connections: Number(LOAD_CONNECTIONS) })
let left = Number(LOAD_COUNT)

async function post(): Promise<void> {
  while (left-- > 0) {
    const answer = await request(LOAD_URL, { method: 'POST', headers, body: LOAD_BODY, dispatcher: agent })
    const text = await answer.body.text()
    if (answer.statusCode !== 200) throw new Error(`${answer.statusCode} ${text}`)
  }
}

const began = Date.now()
const start = performance.now()
await Promise.all(Array.from({ length: Number(LOAD_CONNECTIONS) }, post))
console.log(JSON.stringify({ began, seconds: (performance.now() - start) / 1000 }))
await agent.close()
