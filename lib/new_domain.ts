import { z } from 'zod'

const Capability = z.enum(['enabled', 'disabled'])

/** A domain to add (contract 5.2). */
export const NewDomain = z.object({
  name: z.string(),
  region: z.enum(['us-east-1', 'eu-west-1', 'sa-east-1', 'ap-northeast-1']).optional(),
  custom_return_path: z.string().optional(),
  capabilities: z.object({ sending: Capability.optional(), receiving: Capability.optional() }).optional(),
  open_tracking: z.boolean().optional(),
  click_tracking: z.boolean().optional(),
  tls: z.enum(['opportunistic', 'enforced']).optional(),
  tracking_subdomain: z.string().nullish(),
})
export type NewDomain = z.infer<typeof NewDomain>
