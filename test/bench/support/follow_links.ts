import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'

/**
 * A separate process that follows the links in a file, a path per line, over several connections for some seconds, and prints the
 * number of redirects per second. It uses sockets directly, like load.ts.
 */
const { LOAD_PORT = '', LOAD_FILE = '', LOAD_MS = '3000', LOAD_CONNECTIONS = '32' } = process.env
const USER_AGENT =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36'
const END = '\r\n\r\n'

const requests = (await readFile(LOAD_FILE, 'utf8'))
  .split('\n')
  .map(path => `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: ${USER_AGENT}${END}`)
const began = performance.now()
const until = began + Number(LOAD_MS)
let asked = 0
let answered = 0

function follow(): Promise<void> {
  const socket = connect(Number(LOAD_PORT), '127.0.0.1').setNoDelay(true)
  const ask = () => socket.write(requests[asked++ % requests.length] as string)
  return new Promise((resolve, reject) => {
    let answer = ''
    socket.on('connect', ask).on('error', reject).on('close', resolve)
    socket.on('data', chunk => {
      answer += chunk.toString('latin1')
      // A redirect has no body.
      if (!answer.endsWith(END)) return
      if (!answer.startsWith('HTTP/1.1 302 ')) reject(new Error(answer))
      answer = ''
      answered++
      if (performance.now() < until) ask()
      else socket.end()
    })
  })
}

await Promise.all(Array.from({ length: Number(LOAD_CONNECTIONS) }, follow))
console.log((answered * 1_000) / (performance.now() - began))
