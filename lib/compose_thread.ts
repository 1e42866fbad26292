import { type ComposedMessage, composeMessage, type Message } from './message.ts'

/** What `compose.ts` runs in a thread of its own. */
export default function compose(message: Message): ComposedMessage {
  return composeMessage(message)
}
