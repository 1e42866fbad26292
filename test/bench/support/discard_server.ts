import { SMTPServer } from 'smtp-server'

/** The baseline of inbound mail: the library alone, which discards messages. Prints a line once it listens. */
const server = new SMTPServer({
  disabledCommands: ['AUTH', 'STARTTLS'],
  disableReverseLookup: true,
  logger: false,
  onData(stream, _session, callback) {
    stream.resume().once('end', () => callback())
  },
})
server.on('error', () => {}) // for connections that are dropped when it stops
server.listen(Number(process.env.PORT), () => console.log('listening'))
process.once('SIGTERM', () => process.exit())
