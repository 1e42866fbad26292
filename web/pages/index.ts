import type { Room } from '#web/request/visit.ts'
import { apiKeyRoom } from './api_keys.ts'
import { auditRoom } from './audit_log.ts'
import { automationRoom } from './automations/automations.ts'
import { campaignRoom } from './campaigns/campaigns.ts'
import { capturedRoom } from './captured/index.ts'
import { domainRoom } from './domains/domains.ts'
import { emailRoom } from './emails/index.ts'
import { logRoom } from './logs.ts'
import { audienceRoom } from './marketing/audiences.ts'
import { contactRoom } from './marketing/contacts.ts'
import { importRoom } from './marketing/imports.ts'
import { pollRoom } from './marketing/polls.ts'
import { propertyRoom } from './marketing/properties.ts'
import { segmentRoom } from './marketing/segments.ts'
import { templateRoom } from './marketing/templates.ts'
import { topicRoom } from './marketing/topics.ts'
import { memberRoom } from './members/members.ts'
import { operatorRoom } from './operator/operator.ts'
import { overviewRoom } from './overview.ts'
import { profileRoom } from './profile.ts'
import { receivedRoom } from './received/index.ts'
import { settingsRoom } from './settings.ts'
import { suppressionRoom } from './suppressions.ts'
import { webhookRoom } from './webhooks/webhooks.ts'

/** All pages of the dashboard. */
export const rooms: Room[] = [
  overviewRoom,
  emailRoom,
  capturedRoom,
  receivedRoom,
  campaignRoom,
  automationRoom,
  contactRoom,
  segmentRoom,
  topicRoom,
  templateRoom,
  importRoom,
  audienceRoom,
  propertyRoom,
  pollRoom,
  operatorRoom,
  domainRoom,
  suppressionRoom,
  webhookRoom,
  logRoom,
  apiKeyRoom,
  memberRoom,
  auditRoom,
  settingsRoom,
  profileRoom,
]
