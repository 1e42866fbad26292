import { layOutMessage, type MessageHead, type Part } from './message.ts'

/** What `compose.ts` runs in a thread of its own. */
export default function layOut(message: MessageHead): Part {
  return layOutMessage(message)
}
