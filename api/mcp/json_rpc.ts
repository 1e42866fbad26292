import { z } from 'zod'

/** A message of JSON-RPC 2.0. Without an id it is a notification, which nobody responds to. */
export const Message = z.looseObject({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.number()]).optional(),
  method: z.string().optional(),
  params: z.record(z.string(), z.unknown()).optional(),
})
export type Message = z.infer<typeof Message>

/** JSON-RPC 2.0, section 5.1. */
export const INVALID_REQUEST = -32600
export const METHOD_NOT_FOUND = -32601
export const INVALID_PARAMS = -32602

/** The client gets this error as an error of the protocol. */
export class ProtocolError extends Error {
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}
