import Koa from 'koa'

/** The baseline of `redirect`: Koa, which responds to every request with a redirect. */
const app = new Koa()
app.use(ctx => {
  ctx.set('location', 'https://acme.com/page?n=0')
  ctx.status = 302
  ctx.body = ''
})
const server = app.listen(Number(process.env.PORT), () => console.log('listening'))
process.once('SIGTERM', () => {
  server.close()
  server.closeAllConnections()
})
