import { createServer } from 'node:http'

/** A receiver that reads webhooks and responds with 200. GET returns how many there were. */
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
