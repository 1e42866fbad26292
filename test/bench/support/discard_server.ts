import { SMTPServer } from 'smtp-server'

/** What inbound mail is measured beside: the library alone, which throws away what it gets. Prints a line once it listens. */
const server = new SMTPServer({
  disabledCommands: ['AUTH', 'STARTTLS'],
  disableReverseLookup: true,
  logger: false,
  onData(stream, _session, callback) {
    stream.resume().once('end', () => callback())
  },
})
server.on('error', () => {}) // of connections that are dropped when it stops
server.listen(Number(process.env.PORT), () => console.log('listening'))
process.once('SIGTERM', () => process.exit())
