/**
 * Roles of a member in an account. `owner` may do everything, `admin` everything except changing owners, `view_only` may only
 * read.
 */
export const ROLES = ['owner', 'admin', 'view_only'] as const
export type Role = (typeof ROLES)[number]

/** `change`: anything that is not reading. `manage`: members and API keys. `own`: owners, and making somebody an owner. */
type Act = 'change' | 'manage' | 'own'

const ALLOWED: Record<Role, readonly Act[]> = {
  owner: ['change', 'manage', 'own'],
  admin: ['change', 'manage'],
  view_only: [],
}

/** Tells whether members with this role may do this. */
export function may(role: Role, act: Act): boolean {
  return ALLOWED[role].includes(act)
}
