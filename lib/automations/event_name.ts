import { z } from 'zod'

/** In characters. */
const MAX_NAME = 255

/** The name of a custom event or of one of ours, such as `contact.created`. */
export const EventName = z
  .string()
  .min(1)
  .max(MAX_NAME)
  .refine(name => !name.startsWith('service:'), 'must not begin with `service:`, which is reserved')
