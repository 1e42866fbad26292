import type { Room } from '#web/request/visit.ts'
import { captured } from './captured.ts'
import { capturedFiles, capturedMessage } from './message.ts'

export const capturedRoom: Room = { pages: [captured, capturedMessage], actions: [], files: capturedFiles }
