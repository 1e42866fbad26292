import { z } from 'zod'
import { parseAddress } from '#lib/mail/address.ts'
import { refuse, TEXT_LINE } from '#lib/zod_fields.ts'
import { MAX_PASSWORD_LENGTH, MIN_PASSWORD_LENGTH } from './password.ts'
import { ROLES } from './roles.ts'

export const Role = z
  .enum(ROLES)
  .describe('`owner`: may do everything. `admin`: everything except changing owners. `view_only`: may only read.')

/** Returns an address in the form in which those of members are stored; null if it is none. */
export function memberAddress(text: string): string | null {
  return parseAddress(text.trim())?.address.toLowerCase() ?? null
}

/** The address with which a member signs in, in lower case. */
const MemberEmail = z
  .string()
  .transform((text, context) => memberAddress(text) ?? refuse(context, 'validation_error', 'must be an email address'))
  .describe('Address of the member, who signs in with it.')

const MemberName = z
  .string()
  .trim()
  .min(1)
  .max(100)
  .regex(TEXT_LINE, 'must be one line of text')
  .describe('Name of the member.')

const Password = z.string().min(MIN_PASSWORD_LENGTH).max(MAX_PASSWORD_LENGTH).describe('Password of the member.')

/** An invitation to an account. */
export const NewInvitation = z.object({ email: MemberEmail, role: Role }).meta({ id: 'NewInvitation' })

export const MemberChange = z.object({ role: Role }).meta({ id: 'MemberChange' })

export const NewPassword = z.object({ password: Password })

export const NewPasskey = z.object({
  name: z.string().trim().min(1).max(100).regex(TEXT_LINE, 'must be one line of text').describe('Name of the passkey.'),
})

/** The form behind a link that creates a member. With an invitation the `email` is known already. */
export const NewMember = z.object({ email: MemberEmail.optional(), name: MemberName, password: Password })
