import type { Room } from '#web/request/visit.ts'
import { apiKeyRoom } from './api_keys.ts'
import { auditRoom } from './audit_log.ts'
import { emailRoom } from './emails/index.ts'
import { memberRoom } from './members/members.ts'
import { overviewRoom } from './overview.ts'
import { profileRoom } from './profile.ts'

/** All pages of the dashboard. */
export const rooms: Room[] = [overviewRoom, emailRoom, apiKeyRoom, memberRoom, auditRoom, profileRoom]
