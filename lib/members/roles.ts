/** Roles of a member in an account. `owner` may do everything, `admin` all but change owners, `view_only` only read. */
export const ROLES = ['owner', 'admin', 'view_only'] as const
export type Role = (typeof ROLES)[number]

/** `change`: anything that is not reading. `manage`: members and API keys. `own`: owners, and who becomes one. */
type Act = 'change' | 'manage' | 'own'

const ALLOWED: Record<Role, readonly Act[]> = {
  owner: ['change', 'manage', 'own'],
  admin: ['change', 'manage'],
  view_only: [],
}

/** Tells whether members of a role may do something. */
export function may(role: Role, act: Act): boolean {
  return ALLOWED[role].includes(act)
}
