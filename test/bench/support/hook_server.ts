import { createServer } from 'node:http'

/** A receiver of webhooks that reads each and answers 200. A GET is answered with how many it were. */
let count = 0
const server = createServer((request, response) => {
  if (request.method === 'GET') return response.end(String(count))
  request.resume().once('end', () => {
    count++
    response.end()
  })
})
server.listen(Number(process.env.PORT), () => console.log('listening'))
process.once('SIGTERM', () => process.exit())
