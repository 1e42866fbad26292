// Written by `npm run docs` from the OpenAPI document: edit the sources, not this file.

/** Names of the errors that the API responds with. */
export type ErrorName = "invalid_idempotency_key" | "missing_api_key" | "restricted_api_key" | "plan_limit_reached" | "invalid_api_key" | "dashboard_only" | "view_only_member" | "reputation_paused" | "not_found" | "invalid_idempotent_request" | "concurrent_idempotent_requests" | "domain_conflict" | "invalid_attachment" | "validation_error" | "invalid_from_address" | "invalid_to_address" | "missing_required_field" | "reserved_recipient" | "daily_quota_exceeded" | "monthly_quota_exceeded" | "contact_limit_reached" | "ai_credits_exceeded" | "automation_quota_exceeded" | "rate_limit_exceeded" | "reputation_limit_exceeded" | "contacts_busy" | "contacts_timeout" | "batch_incomplete" | "sending_service_unavailable" | "sending_configuration_unavailable" | "application_error" | "internal_server_error"

export type AbTest = {
  /** A campaign without a test has null. */
  enabled: true
  /** Percentage of the recipients that get the test. */
  test_percentage: number
  /** The rate by which the winner is chosen. */
  winner_metric: "open_rate" | "click_rate" | (string & {})
  /** Hours from the last email of the test until the winner is chosen. */
  wait_hours: number
  /** The variants, each with the fields in which it differs. */
  variants: AbVariant[]
}

export type AbVariant = {
  /** Name of the variant. */
  key: string
  /** Subject; null: that of the campaign. */
  subject: string | null
  /** Text beside the subject; null: that of the campaign. */
  preview_text: string | null
  /** Sender; null: that of the campaign. */
  from: string | null
  /** HTML part; null: that of the campaign. */
  html: string | null
  /** Plain-text part; null: that of the campaign. */
  text: string | null
}

export type AbVariantFigures = {
  /** Name of the variant. */
  key: string
  /** Its subject. */
  subject: string | null
  /** A mail server accepted it. */
  sent: number
  /** Accepted, and no bounce came after that. */
  delivered: number
  /** Recipients who opened it. */
  unique_opened: number
  /** Recipients who clicked a link. */
  unique_clicked: number
  /** `unique_opened` of `delivered`: a fraction with 4 decimals. */
  open_rate: number
  /** `unique_clicked` of `delivered`: a fraction with 4 decimals. */
  click_rate: number
}

export type AbWinner = {
  /** Key of the variant. */
  variant: string
}

export type AddToSegmentStep = {
  /** Unique in the automation: 1 to 100 letters, digits, `_`, `-` or `.`. */
  key: string
  /** Type of the step. */
  type: "add_to_segment"
  /** What the step does. */
  config: SegmentStepConfig
}

export type AddedSuppressions = {
  /** In the order of the request. */
  data: {
    object: "suppression"
    id: string
    /** The address. */
    email: string
  }[]
}

export type ApiKey = {
  object: "api_key"
  id: string
  /** Name for people. */
  name: string
  /** First characters of the key. */
  prefix: string
  /** `sending_access`: it can only send. */
  permission: "full_access" | "sending_access" | (string & {})
  /** Id of the domain that it is limited to; null: all. */
  domain_id: string | null
  /** Id of the default domain of requests that need a domain and name none; null: none. */
  default_domain_id: string | null
  created_at: string
  /** When it was last used, to the minute; null: never. */
  last_used_at: string | null
  /** When it expires; null: never. */
  expires_at: string | null
}

export type Attachment = {
  object: "attachment"
  id: string
  /** Name of the file. */
  filename: string
  /** MIME type. */
  content_type: string
  /** `inline`: shown within the content. */
  content_disposition: "attachment" | "inline" | (string & {})
  /** Name that the HTML shows it by, as `cid:CONTENT_ID`. */
  content_id: string | null
  /** Bytes; null until a file with a `path` is fetched. */
  size: number | null
  /** URL of the file. It needs the API key. */
  download_url: string
}

export type Audience = {
  object: "audience"
  id: string
  /** Name of the audience. */
  name: string
  /** Id of its domain; the default audience of the domain has the same id. */
  domain_id: string
  /** Name of its domain. */
  domain: string
  /** Number of its contacts. */
  contacts_count: number
  created_at: string
  updated_at: string
}

export type AudienceChange = {
  /** One line of 1 to 255 characters. Unique among the audiences of the domain. */
  name: string
}

export type AudienceContactBatch = {
  /** 1 to 10,000 contacts. */
  contacts: BatchContact[]
  /** `upsert` changes contacts that exist already, `skip` leaves them as they are. Default: `upsert`. */
  on_conflict?: "upsert" | "skip"
  /** True if `unsubscribed: false` undoes an opt-out. Default: `false`. */
  resubscribe?: boolean
  /** True if contacts that are new or have unsubscribed start automations, as `contact.created` and `contact.unsubscribed`. Default: `false`. */
  trigger_automations?: boolean
  /** Up to 100 segments to add it to: ids, or objects with an `id`. */
  segments?: (string | {
    id: string
  })[] | null
  /** Up to 100 choices about topics. */
  topics?: {
    /** Id of the topic. */
    id: string
    /** Choice of the contact. */
    subscription: "opt_in" | "opt_out"
  }[] | null
}

export type Automation = {
  object: "automation"
  id: string
  /** Name for people. */
  name: string
  /** `enabled`: its event makes contacts enter. Runs that have started continue in any case. */
  status: "enabled" | "disabled" | (string & {})
  /** Id of the domain whose contacts enter. */
  domain_id: string
  /** Name of that domain. */
  domain: string
  /** Name of the event that makes contacts enter; null: it has no step yet. */
  trigger: string | null
  /** `always`: each event starts a run. `while_not_running`: not while the contact has one. `once`: one run per contact, ever. */
  reentry: "always" | "while_not_running" | "once" | (string & {})
  /** `transactional`: its emails also go to contacts that have unsubscribed, but never to suppressed addresses. */
  purpose: "marketing" | "transactional" | (string & {})
  /** Version of its steps for contacts that enter now. Runs that have started keep their version. */
  version: number
  /** How often a contact did not enter because of a limit or of the quota. */
  limited: number
  created_at: string
  updated_at: string
  /** Its steps, the trigger first. */
  steps: AutomationStep[]
  /** How they follow each other. */
  connections: AutomationConnection[]
  /** Its runs by status. */
  runs: AutomationRunCounts
}

export type AutomationChange = {
  /** Name for people: one line of 1 to 255 characters. */
  name?: string
  /** `enabled`: contacts enter from now on. `disabled`: no contacts enter, and runs that have started continue. */
  status?: "enabled" | "disabled" | null
  /** `always`: each event starts a run. `while_not_running`: not while the contact has one. `once`: one run per contact, ever. */
  reentry?: "always" | "while_not_running" | "once" | null
  /** `transactional`: its emails also go to contacts that have unsubscribed, but never to suppressed addresses. */
  purpose?: "marketing" | "transactional" | null
  /** Name or id of another domain, while it is disabled. */
  domain?: string | null
  /** Name of the event that makes contacts enter, in place of a step of type `trigger`; that step gets the key `trigger`. */
  trigger?: string | null
  /** All steps. A step keeps its id if it keeps its key. */
  steps?: (TriggerStep | SendEmailStep | DelayStep | WaitForEventStep | ConditionStep | ContactUpdateStep | ContactDeleteStep | AddToSegmentStep | RemoveFromSegmentStep)[] | null
  /** All connections. They must be given with `steps`. */
  connections?: NewAutomationConnection[] | null
}

export type AutomationConnection = {
  /** Key of the step at which it begins. */
  from: string
  /** Key of the step that it leads to. */
  to: string
  /** When a run goes this way. */
  type: "default" | "condition_met" | "condition_not_met" | "event_received" | "timeout" | (string & {})
}

export type AutomationCopy = {
  /** Name of the copy. Default: `Copy of` and the name of the original. */
  name?: string | null
} | null

export type AutomationRun = {
  object: "automation_run"
  id: string
  /** Id of the automation. */
  automation_id: string
  /** Version of the automation that it uses. */
  version: number
  /** Id of the contact. */
  contact_id: string
  /** Address of the contact when the run began. */
  contact_email: string
  /** `skipped`: it ended without doing its work, because it was stopped or its contact gets no mail. */
  status: "running" | "completed" | "failed" | "skipped" | (string & {})
  /** Why it failed or was skipped. If its emails were not sent: the `output.reason` of the last one. */
  error: string | null
  /** When the contact entered. */
  started_at: string
  /** When it ended; null: it has not. */
  completed_at: string | null
  created_at: string
  /** Steps that it has reached, in their order, from the trigger on. */
  steps: AutomationRunStep[]
}

export type AutomationRunCounts = {
  /** At most 10,000, even if there are more. */
  running: number
  /** At most 10,000, even if there are more. */
  completed: number
  /** At most 10,000, even if there are more. */
  failed: number
  /** At most 10,000, even if there are more. */
  skipped: number
}

export type AutomationRunStep = {
  /** Key of the step. */
  key: string
  /** Type of the step. */
  type: "trigger" | "send_email" | "delay" | "wait_for_event" | "condition" | "contact_update" | "contact_delete" | "add_to_segment" | "remove_from_segment" | (string & {})
  /** `waiting`: the run has reached it. */
  status: "waiting" | "completed" | "failed" | "skipped" | (string & {})
  /** Its result. */
  output: Record<string, unknown> | null
  /** Why it failed or was skipped. */
  error: {
    /** The reason. */
    message: string
  } | null
  /** When the run reached it. */
  started_at: string
  /** When the run left it; null: it has not. */
  completed_at: string | null
  created_at: string
}

export type AutomationStep = {
  object: "automation_step"
  id: string
  /** Name of the step, unique in the automation. */
  key: string
  /** Type of the step. */
  type: "trigger" | "send_email" | "delay" | "wait_for_event" | "condition" | "contact_update" | "contact_delete" | "add_to_segment" | "remove_from_segment" | (string & {})
  /** What it does, with all defaults filled in. */
  config: Record<string, unknown>
}

export type AutomationStepChange = {
  /** Cannot be changed: the key that it has. */
  key?: string
  /** Type of the step. Default: as it is. With another one, give its `config`. */
  type?: "trigger" | "send_email" | "delay" | "wait_for_event" | "condition" | "contact_update" | "contact_delete" | "add_to_segment" | "remove_from_segment" | "wait" | "branch" | "update_contact"
  /** The whole configuration. Default: as it is. */
  config?: Record<string, unknown> | null
}

export type AutomationTemplate = {
  /** Id or alias of the template, published when the automation is enabled. */
  id: string
  /** Values of variables by key; `{"var": "event.plan"}` takes one from the event or the contact. */
  variables?: Record<string, string | number | boolean | {
    /** A field of the contact or the event, such as `event.plan`. */
    var: string
  }> | null
}

export type BatchContact = {
  /** The address, without a name. Unique among the contacts of the domain. */
  email: string
  /** One line of up to 255 characters. Null clears it. */
  first_name?: string | null
  /** One line of up to 255 characters. Null clears it. */
  last_name?: string | null
  /** `true`: the contact gets no campaigns. Only an explicit `false` undoes an opt-out. */
  unsubscribed?: boolean | null
  /** `true`: opens and clicks of mail to it are never tracked, even if the email or its domain enables tracking. */
  do_not_track?: boolean | null
  /** IANA time zone such as `Europe/Berlin`, for campaigns in local time. Null clears it. */
  timezone?: string | null
  /** Values by the keys of contact properties. A value of null removes it. */
  properties?: Record<string, string | number | null> | null
}

export type BatchError = {
  /** Position of the email in the request, from 0. */
  index: number
  /** Why it is not sent. */
  message: string
}

export type Brand = {
  /** Name of the sender; null: the name of the domain. */
  name: string | null
  /** Color of the buttons; null: the default color. */
  color: string | null
  /** URL of the image above the name; null: none. */
  logo_url: string | null
}

export type Campaign = {
  object: "campaign"
  id: string
  /** Name for people; may be empty. */
  name: string
  /** `queued`: it is being sent. `sent`: nothing of it is left to send. `failed`: `error` says why it was not sent. */
  status: "draft" | "scheduled" | "queued" | "testing" | "paused" | "sent" | "canceled" | "failed" | (string & {})
  /** Id of the domain of `from`. */
  domain_id: string
  /** Id of the audience that gets it. With `segment_id` too: contacts that are in both. */
  audience_id: string | null
  /** Id of the segment that gets it. */
  segment_id: string | null
  /** Id of the topic to which its recipients are subscribed. */
  topic_id: string | null
  /** Sender. */
  from: string
  /** Addresses that replies go to. */
  reply_to: string[]
  /** Subject, with placeholders; null: that of the template. */
  subject: string | null
  /** Text that inboxes show beside the subject. */
  preview_text: string | null
  /** Id of the template that its content comes from. */
  template_id: string | null
  /** True if opens are tracked; null: as its domain says. */
  track_opens: boolean | null
  /** True if clicks are tracked; null: as its domain says. */
  track_clicks: boolean | null
  /** Its A/B test; null: none. */
  ab_test: AbTest | null
  /** How it recurs; null: it is sent once. */
  recurrence: "daily" | "weekly" | "monthly" | null | (string & {})
  /** Days, weeks or months from one run to the next. */
  recurrence_every: number | null
  /** IANA time zone of the time of day at which it is sent. */
  timezone: string
  /** True if each recipient gets it at this time of day in their own time zone. */
  send_in_local_time: boolean
  /** Contacts who were sent a campaign within this many hours are left out; null: nobody is. */
  skip_if_mailed_within_hours: number | null
  /** Contacts who were sent campaigns for this many days and opened none are left out; null: nobody is. */
  exclude_unengaged_days: number | null
  /** Number of contacts that it is sent to in the latest run, without those who were left out. 0 until all are found. */
  recipients_count: number
  /** When it is or was to be sent. For a recurring campaign: the next run, or the current one. */
  scheduled_at: string | null
  /** When sending began, in the latest run. */
  started_at: string | null
  /** When nothing of it was left to send, in the latest run. */
  sent_at: string | null
  /** When it was paused. */
  paused_at: string | null
  /** Why it is paused, or why nothing of it is sent at the moment. */
  pause_reason: string | null
  /** Why it failed. */
  error: string | null
  created_at: string
  updated_at: string
  /** HTML part, with placeholders. */
  html: string | null
  /** Plain-text part; null: derived from `html`. */
  text: string | null
  /** Its poll; null: none. */
  poll: PollForm | null
}

export type CampaignAb = {
  object: "campaign_ab"
  /** Id of the campaign. */
  campaign_id: string
  /** `pending`: not sent yet. `testing`: there is no winner yet. `ended`: all recipients were in the test, so there is none. */
  status: "pending" | "testing" | "decided" | "canceled" | "ended" | (string & {})
  /** The rate by which the winner is chosen. */
  winner_metric: "open_rate" | "click_rate" | (string & {})
  /** Percentage of the recipients that get the test. */
  test_percentage: number
  /** Hours from the last email of the test until the winner is chosen. */
  wait_hours: number
  /** When the winner is chosen; null: the test is still being sent, or is canceled. */
  decide_at: string | null
  /** Key of the winner. */
  winner: string | null
  /** When it was chosen. */
  decided_at: string | null
  /** `manual`: by a request. */
  decided_by: "automatic" | "manual" | null | (string & {})
  /** Confidence, from 0 to 1, that the leading variant (or the winner, when it was chosen) is better than the next one. */
  confidence: number
  /** True if `confidence` is at least 0.95. Otherwise the winner is a guess. */
  significant: boolean
  /** The variants in their order. */
  variants: AbVariantFigures[]
}

export type CampaignChange = {
  /** Sender: `email@domain` or `Name <email@domain>`, at a domain of the account. */
  from?: string
  /** Name for people: one line of up to 255 characters. */
  name?: string | null
  /** Id of the audience that gets it. With `segment_id` too: contacts that are in both. */
  audience_id?: string | null
  /** Id of the segment that gets it, as it is when the campaign is sent. */
  segment_id?: string | null
  /** Id of a topic. Only contacts who are subscribed to it get the campaign. */
  topic_id?: string | null
  /** Up to 50 addresses that replies go to: a list, or a single one. */
  reply_to?: string | string[] | null
  /** One line of up to 998 characters; may have placeholders. Default: the subject of the template. */
  subject?: string | null
  /** Text that inboxes show beside the subject: one line of up to 998 characters. */
  preview_text?: string | null
  /** HTML part, with placeholders such as `{{first_name|friend}}`. */
  html?: string | null
  /** Plain-text part. Default: derived from `html`. An empty string: no plain-text part. */
  text?: string | null
  /** Id or alias of a template, published when the campaign is sent. Excludes `html` and `text`. */
  template_id?: string | null
  /** True if opens are tracked. Default: the setting of its domain. */
  track_opens?: boolean | null
  /** True if clicks are tracked. Default: the setting of its domain. */
  track_clicks?: boolean | null
  /** Tries 2 to 5 variants on some of the recipients; the rest gets the best. Null: no test. */
  ab_test?: {
    /** `false`: no test. Default: `true`. */
    enabled?: boolean | null
    /** Percentage of the recipients that get the test. Default: 20. With 100 there is no winner. */
    test_percentage?: number | null
    /** The rate by which the winner is chosen. Default: `open_rate`. */
    winner_metric?: "open_rate" | "click_rate" | null
    /** Hours from the last email of the test until the winner is chosen. Default: 4. */
    wait_hours?: number | null
    /** 2 to 5 variants, each with the fields in which it differs. */
    variants?: {
      /** Name of the variant. Default: A, B, C and so on. */
      key?: string | null
      /** One line of up to 998 characters; may have placeholders. Default: the subject of the template. */
      subject?: string | null
      /** Text that inboxes show beside the subject: one line of up to 998 characters. */
      preview_text?: string | null
      /** HTML part, with placeholders such as `{{first_name|friend}}`. */
      html?: string | null
      /** Plain-text part. Default: derived from `html`. An empty string: no plain-text part. */
      text?: string | null
      /** Sender, at the domain of the campaign. */
      from?: string | null
    }[] | null
  } | null
  /** `daily`, `weekly` or `monthly`, from `scheduled_at` on at the same time of day in `timezone`. Null: sent once. */
  recurrence?: "daily" | "weekly" | "monthly" | null
  /** Days, weeks or months from one run to the next, up to 365. Default: 1. Only with `recurrence`. */
  recurrence_every?: number | null
  /** IANA time zone of the time of day at which it is sent. Default: `UTC`. */
  timezone?: string | null
  /** `true`: each recipient gets it at the time of day of `scheduled_at`, in the time zone of the contact. */
  send_in_local_time?: boolean | null
  /** Leaves out contacts who were sent a campaign within this many hours, up to 8,760. Null: nobody is left out. */
  skip_if_mailed_within_hours?: number | null
  /** Leaves out contacts who have been sent campaigns for this many days, up to 730, and opened none in that time. */
  exclude_unengaged_days?: number | null
  /** A question to its recipients, in place of `{{poll}}` or at the end. `{{poll_url:<key>}}` is the link of an option. Default: a poll whose options are the keys of such placeholders, if there are any. */
  poll?: {
    /** The question, one line of up to 300 characters. */
    question: string
    /** 2 to 10 options: labels of up to 80 characters, or objects with `key` and `label`. */
    options: (string | {
      /** Its name: 1 to 80 letters, digits, `_` or `-`. */
      key: string
      /** Text that recipients see, of up to 80 characters. */
      label: string
    })[]
  } | null
}

export type CampaignClick = {
  /** Address of the recipient. */
  email: string
  /** Id of the contact; null if it was deleted. */
  contact_id: string | null
  /** First click by a person. */
  clicked_at: string
  /** Clicks by people. */
  click_count: number
}

export type CampaignCopy = {
  /** Name of the copy. Default: `Copy of` and the name of the original. */
  name?: string | null
} | null

export type CampaignEngagement = {
  object: "campaign_engagement"
  /** Id of the campaign. */
  campaign_id: string
  /** Recipients who opened it, newest first, at most 500. */
  opened: CampaignOpen[]
  /** Recipients who clicked a link, newest first, at most 500. */
  clicked: CampaignClick[]
  /** Recipients who replied, newest first, at most 500, without deleted replies. */
  replied: CampaignReply[]
}

export type CampaignLink = {
  object: "campaign_link"
  id: string
  /** The URL. */
  url: string
  /** Clicks by people. */
  clicks: number
  /** Recipients who clicked it. */
  unique_clicks: number
}

export type CampaignOpen = {
  /** Address of the recipient. */
  email: string
  /** Id of the contact; null if it was deleted. */
  contact_id: string | null
  /** First open by a person, or by a proxy for one. */
  opened_at: string
  /** Opens by people, and by proxies that load images for them. */
  open_count: number
}

export type CampaignRecipient = {
  object: "campaign_recipient"
  id: string
  /** Id of the contact, the same as `id`; null if it was deleted. */
  contact_id: string | null
  /** Address. */
  email: string
  /** `pending`: its email is not stored yet. `mailed`: it is, see `status`. `excluded`: it gets none for `reason`. */
  state: "pending" | "mailed" | "excluded" | "canceled" | (string & {})
  /** Why the contact gets no email. */
  reason: "unsubscribed" | "not_subscribed_to_topic" | "suppressed" | "reserved_domain" | "mailed_recently" | "unengaged" | "deleted" | null | (string & {})
  /** Id of its email. */
  email_id: string | null
  /** Status of its email. */
  status: string | null
  /** Opens by people, and by proxies that load images for them. */
  opens: number
  /** Clicks by people. */
  clicks: number
  /** `opens` if the query has `type=opened`, `clicks` if it has `type=clicked`; else null. */
  count: number | null
  /** Links that it clicked, most clicked first. */
  clicked_links: RecipientLink[]
  /** Kind of the bounce; null: its email has not bounced, or its events are deleted. */
  bounce_type: "permanent" | "transient" | "undetermined" | null | (string & {})
  /** When a mail server accepted its email. */
  sent_at: string | null
  /** First open. */
  opened_at: string | null
  /** First click. */
  clicked_at: string | null
  /** First reply. */
  replied_at: string | null
  /** When the contact unsubscribed with a link of the campaign. */
  unsubscribed_at: string | null
}

export type CampaignReply = {
  /** Address of the recipient. */
  email: string
  /** Id of the contact; null if it was deleted. */
  contact_id: string | null
  /** When the reply arrived. */
  replied_at: string | null
  /** Id of the reply, for `GET /emails/receiving/:id`. */
  received_email_id: string
  /** Its subject. */
  subject: string
  /** Its first 300 characters. */
  preview: string
  /** Its content; null while that is not known. */
  category: "interested" | "neutral" | "not_interested" | null | (string & {})
  /** When it was received. */
  received_at: string
}

export type CampaignRun = {
  object: "campaign_run"
  id: string
  /** Its number, from 1. */
  run: number
  /** `queued`: the run is being sent. The others are the same as for campaigns. */
  status: "queued" | "testing" | "paused" | "sent" | "canceled" | "failed" | (string & {})
  /** When it was due; null: it was sent immediately. */
  scheduled_at: string | null
  /** When sending began. */
  started_at: string
  /** When nothing of it was left to send. */
  finished_at: string | null
  /** Contacts that it is sent to, without those who were left out. */
  recipients_count: number
  /** Number of runs that were skipped because they were due before this one ended. */
  skipped: number
}

export type CampaignSending = {
  /** When to send it: an ISO 8601 timestamp, or a phrase such as `in 2 hours` or `tomorrow at 9am` (UTC), at most 30 days ahead. */
  scheduled_at?: string | Date | null
  /** Number of recipients that you expect. If it differs by more than a tenth, the campaign is not sent. */
  expected_recipients?: number | null
} | null

export type CampaignStats = {
  object: "campaign_stats"
  /** Id of the campaign. */
  campaign_id: string
  /** Its status. */
  status: "draft" | "scheduled" | "queued" | "testing" | "paused" | "sent" | "canceled" | "failed" | (string & {})
  /** `delivered`, `bounced`, `failed`, `suppressed`, `canceled` and `pending` together. */
  recipients: number
  /** A mail server accepted it. */
  sent: number
  /** Accepted, and no bounce came after that. */
  delivered: number
  /** A mail server asked to try again later, once or more. */
  delivery_delayed: number
  /** The address does not exist, or refuses mail. */
  bounced: number
  /** Recipients who reported it as spam. They also count as delivered. */
  complained: number
  /** Could not be delivered for another reason. */
  failed: number
  /** Contacts who were left out. The list of recipients has the reasons. */
  suppressed: number
  /** Canceled before it was sent. */
  canceled: number
  /** Still to be sent, or in doubt. */
  pending: number
  /** Emails in doubt: the connection broke at the end of the message, so it may have arrived. */
  in_doubt: number
  /** Opens by people, and by proxies that load images for them. */
  opened: number
  /** Recipients who opened it. */
  unique_opened: number
  /** Recipients whose images only Apple Mail Privacy Protection fetched. */
  mpp_opened: number
  /** Recipients whose images only a machine fetched. */
  machine_opened: number
  /** Clicks by people. */
  clicked: number
  /** Recipients who clicked a link. */
  unique_clicked: number
  /** Recipients whose links only a machine followed. */
  machine_clicked: number
  /** Recipients who replied. */
  replied: number
  /** Recipients who unsubscribed with its links. */
  unsubscribed: number
  /** `delivered` of `sent`, or of `delivered` and `bounced` if they are more: a fraction with 4 decimals. */
  delivery_rate: number
  /** `unique_opened` of `delivered`: a fraction with 4 decimals. */
  open_rate: number
  /** `unique_clicked` of `delivered`: a fraction with 4 decimals. */
  click_rate: number
  /** `bounced` of `sent`, or of `delivered` and `bounced` if they are more: a fraction with 4 decimals. */
  bounce_rate: number
  /** `complained` of `delivered`: a fraction with 4 decimals. */
  complaint_rate: number
  /** `unsubscribed` of `delivered`: a fraction with 4 decimals. */
  unsubscribe_rate: number
  /** The 20 links that were clicked most. */
  top_links: TopLink[]
}

export type CampaignTest = {
  /** 1 to 10 addresses that get the campaign as it is now: a list, or a single one. */
  to: string | string[]
}

export type CanceledEmail = {
  object: "email"
  id: string
  /** Its new status. */
  status: "canceled"
}

export type Capabilities = {
  /** Mail can be sent from it. */
  sending: "enabled" | "disabled" | (string & {})
  /** Mail to it is received. */
  receiving: "enabled" | "disabled" | (string & {})
}

export type ChangedAudience = {
  object: "audience"
  id: string
}

export type ChangedAutomation = {
  object: "automation"
  id: string
}

export type ChangedAutomationStep = {
  object: "automation_step"
  id: string
}

export type ChangedCampaign = {
  object: "campaign"
  id: string
}

export type ChangedContact = {
  object: "contact"
  id: string
}

export type ChangedContactProperty = {
  object: "contact_property"
  id: string
}

export type ChangedDomain = {
  object: "domain"
  id: string
}

export type ChangedEvent = {
  object: "event"
  id: string
}

export type ChangedSegment = {
  object: "segment"
  id: string
}

export type ChangedTemplate = {
  object: "template"
  id: string
}

export type ChangedTopic = {
  object: "topic"
  id: string
}

export type ChangedTopicChoices = {
  object: "contact_topics"
  id: string
  /** Id of the contact. */
  contact_id: string
  /** The choices as given. */
  topics: {
    /** Id of the topic. */
    id: string
    /** Choice of the contact. */
    subscription: "opt_in" | "opt_out" | (string & {})
  }[]
}

export type ChangedWebhook = {
  object: "webhook"
  id: string
}

export type CloudflareCredentials = {
  /** API token that may edit the DNS of the zone. */
  token: string
}

export type ConditionStep = {
  /** Unique in the automation: 1 to 100 letters, digits, `_`, `-` or `.`. */
  key: string
  /** Type of the step. */
  type: "condition"
  /** What the step does. */
  config: Record<string, unknown>
}

export type Consent = {
  /** Id of the topic; null: all campaigns. */
  topic_id: string | null
  /** The choice. */
  subscription: "opt_in" | "opt_out" | (string & {})
  /** How the contact opted in or out. */
  how: "api" | "import" | "page" | "one_click" | "email" | "complaint" | "soft_bounces" | "automation" | (string & {})
  /** Id of the API key, import, email or automation that it came from. */
  source_id: string | null
  /** IP address that it came from. */
  client_address: string | null
  created_at: string
}

export type Contact = {
  object: "contact"
  id: string
  /** The address, in lower case. */
  email: string
  /** First name. */
  first_name: string | null
  /** Last name. */
  last_name: string | null
  /** True if it gets no campaigns. */
  unsubscribed: boolean
  /** True if opens and clicks of mail to it are not tracked. */
  do_not_track: boolean
  /** IANA time zone, as it was given; null: not known. */
  timezone: string | null
  /** Id of its domain. */
  domain_id: string
  /** Ids of its audiences. The default audience of the domain comes first. */
  audience_ids: string[]
  created_at: string
  updated_at: string
  /** Values by key, including the fallback values of properties without a value. */
  properties: Record<string, string | number>
}

export type ContactBatch = {
  /** 1 to 10,000 contacts. */
  contacts: BatchContact[]
  /** `upsert` changes contacts that exist already, `skip` leaves them as they are. Default: `upsert`. */
  on_conflict?: "upsert" | "skip"
  /** True if `unsubscribed: false` undoes an opt-out. Default: `false`. */
  resubscribe?: boolean
  /** True if contacts that are new or have unsubscribed start automations, as `contact.created` and `contact.unsubscribed`. Default: `false`. */
  trigger_automations?: boolean
  /** Up to 100 segments to add it to: ids, or objects with an `id`. */
  segments?: (string | {
    id: string
  })[] | null
  /** Up to 100 choices about topics. */
  topics?: {
    /** Id of the topic. */
    id: string
    /** Choice of the contact. */
    subscription: "opt_in" | "opt_out"
  }[] | null
  /** Name or id of the domain. Default: that of the API key, or the only one of the account. */
  domain?: string | null
  /** Id of an audience to join. It implies the domain. */
  audience_id?: string | null
}

export type ContactChange = {
  /** One line of up to 255 characters. Null clears it. */
  first_name?: string | null
  /** One line of up to 255 characters. Null clears it. */
  last_name?: string | null
  /** `true`: the contact gets no campaigns. Only an explicit `false` undoes an opt-out. */
  unsubscribed?: boolean | null
  /** `true`: opens and clicks of mail to it are never tracked, even if the email or its domain enables tracking. */
  do_not_track?: boolean | null
  /** IANA time zone such as `Europe/Berlin`, for campaigns in local time. Null clears it. */
  timezone?: string | null
  /** Name or id of the domain, if the path has an address. Default: that of the API key. */
  domain?: string | null
  /** Values by the keys of contact properties. A value of null removes it. */
  properties?: Record<string, string | number | null> | null
}

export type ContactCounts = {
  /** All together. */
  total: number
  /** New contacts. */
  created: number
  /** Contacts that already existed, including those that were not changed. */
  updated: number
  /** Records that were left out, because the address occurs twice or by `on_conflict`. */
  skipped: number
  /** Invalid records. */
  failed: number
}

export type ContactDeleteStep = {
  /** Unique in the automation: 1 to 100 letters, digits, `_`, `-` or `.`. */
  key: string
  /** Type of the step. */
  type: "contact_delete"
  /** What the step does. */
  config: Record<string, unknown>
}

export type ContactEvent = {
  object: "contact_event"
  id: string
  /** Name of the event. */
  name: string
  /** Id of the contact, which may have been deleted since. */
  contact_id: string
  /** Id of the domain of the contact. */
  domain_id: string
  /** Values that came with it. */
  payload: Record<string, unknown>
  /** Number of automation runs that it started. */
  enrolled: number
  created_at: string
}

export type ContactImport = {
  object: "contact_import"
  id: string
  /** Id of the domain. */
  domain_id: string
  /** Id of the audience that the contacts join. */
  audience_id: string | null
  /** `failed`: the file was not read to its end. */
  status: "queued" | "in_progress" | "completed" | "failed" | (string & {})
  /** Counts of the records that have been processed so far. */
  counts: ContactCounts
  /** Number of records in the file; null until they are counted. */
  records: number | null
  /** Columns of the file that are not imported. */
  ignored_columns: string[]
  /** Why the file was not read to its end. */
  error: string | null
  /** True once more than 100,000 records were skipped: repeated addresses are then counted, and not listed. */
  errors_cut: boolean
  created_at: string
  /** When the import ended. */
  completed_at: string | null
  /** The first 100 records that were not stored. */
  errors: ContactImportError[]
}

export type ContactImportError = {
  object: "contact_import_error"
  id: string
  /** Number of the record in the file, from 1, without the header. */
  row: number
  /** Line of the file in which it begins, from 1. */
  line: number
  /** The address as it is in the file. */
  email: string | null
  /** `skipped`: its address comes earlier in the file. */
  outcome: "failed" | "skipped" | (string & {})
  /** Why it was not stored. */
  message: string
}

export type ContactImportForm = {
  /** Columns whose names differ from those of the fields. The others are still found by their names. */
  column_map?: {
    /** Column of the address. */
    email?: string
    /** Column of the first name. */
    first_name?: string
    /** Column of the last name. */
    last_name?: string
    /** Column that says who has unsubscribed: true or false. */
    unsubscribed?: string
    /** Column that says whose opens and clicks are not tracked: true or false. */
    do_not_track?: string
    /** Column of the IANA time zone. */
    timezone?: string
    /** Columns of choices about topics, by the ids of the topics. */
    topics?: Record<string, {
      /** Column of the choices: `opt_in`, `opt_out`, or empty for none. */
      column: string
    }>
    /** Columns of properties, by the keys of the properties. */
    properties?: Record<string, {
      /** Column of the values. */
      column: string
      /** Default: the type of the property; of a new one, `string`. */
      type?: "string" | "number"
    }>
  } | null
  /** True if unknown columns become properties of the type string, false if they are left out. Default: `true`. */
  create_properties?: boolean
  /** `upsert` changes contacts that exist already, `skip` leaves them as they are. Default: `upsert`. */
  on_conflict?: "upsert" | "skip"
  /** True if `unsubscribed: false` undoes an opt-out. Default: `false`. */
  resubscribe?: boolean
  /** True if contacts that are new or have unsubscribed start automations, as `contact.created` and `contact.unsubscribed`. Default: `false`. */
  trigger_automations?: boolean
  /** Between cells. Default: the most frequent in the header. */
  delimiter?: "," | ";" | "\t" | "|"
  /** Encoding of a file in a form. Default: that of its byte order mark, else UTF-8, or Windows-1252 if it is not UTF-8. */
  encoding?: string
  /** Up to 100 segments to add it to: ids, or objects with an `id`. */
  segments?: (string | {
    id: string
  })[] | null
  /** Up to 100 choices about topics. */
  topics?: {
    /** Id of the topic. */
    id: string
    /** Choice of the contact. */
    subscription: "opt_in" | "opt_out"
  }[] | null
  /** Name or id of the domain. Default: that of the API key, or the only one of the account. */
  domain?: string | null
  /** Id of an audience to join. It implies the domain. */
  audience_id?: string | null
  /** The file. */
  file?: Blob
}

export type ContactProperty = {
  object: "contact_property"
  id: string
  /** Name of the property. */
  key: string
  /** Type of its values. */
  type: "string" | "number" | (string & {})
  /** Value for contacts that have none; null: none. */
  fallback_value: string | number | null
  created_at: string
  updated_at: string
}

export type ContactPropertyChange = {
  /** Value for contacts that have none; null: none. */
  fallback_value: string | number | null
}

export type ContactSegment = {
  object: "contact_segment"
  id: string
  /** Id of the contact. */
  contact_id: string
  /** Id of the segment. */
  segment_id: string
}

export type ContactTopic = {
  object: "contact_topic"
  id: string
  /** Name of the topic. */
  name: string
  /** Subject of the mail with this topic, as recipients see it. */
  description: string | null
  /** Subscription of the contact. `opt_out` for every topic if the contact has unsubscribed. */
  subscription: "opt_in" | "opt_out" | (string & {})
  /** Choice of the contact; null: the default of the topic applies. */
  choice: "opt_in" | "opt_out" | null | (string & {})
}

export type ContactUpdateStep = {
  /** Unique in the automation: 1 to 100 letters, digits, `_`, `-` or `.`. */
  key: string
  /** Type of the step. */
  type: "contact_update"
  /** What the step does. */
  config: ContactUpdateStepConfig
}

export type ContactUpdateStepConfig = {
  /** One line of up to 255 characters. Null clears it. */
  first_name?: string | null | {
    /** A field of the contact or the event, such as `event.plan`. */
    var: string
  }
  /** One line of up to 255 characters. Null clears it. */
  last_name?: string | null | {
    /** A field of the contact or the event, such as `event.plan`. */
    var: string
  }
  /** `true` opts the contact out; `false` undoes that. */
  unsubscribed?: boolean | {
    /** A field of the contact or the event, such as `event.plan`. */
    var: string
  }
  /** Values by the keys of contact properties. A value of null removes it. */
  properties?: Record<string, string | number | null | {
    /** A field of the contact or the event, such as `event.plan`. */
    var: string
  }>
}

export type ContactWithConsents = {
  object: "contact"
  id: string
  /** The address, in lower case. */
  email: string
  /** First name. */
  first_name: string | null
  /** Last name. */
  last_name: string | null
  /** True if it gets no campaigns. */
  unsubscribed: boolean
  /** True if opens and clicks of mail to it are not tracked. */
  do_not_track: boolean
  /** IANA time zone, as it was given; null: not known. */
  timezone: string | null
  /** Id of its domain. */
  domain_id: string
  /** Ids of its audiences. The default audience of the domain comes first. */
  audience_ids: string[]
  created_at: string
  updated_at: string
  /** The newest 100 opt-ins and opt-outs of the address. */
  consents: Consent[]
  /** Values by key, including the fallback values of properties without a value. */
  properties: Record<string, string | number>
}

export type CreatedCampaign = {
  object: "campaign"
  id: string
  /** Name for people; may be empty. */
  name: string
  /** `queued`: it is being sent. `sent`: nothing of it is left to send. `failed`: `error` says why it was not sent. */
  status: "draft" | "scheduled" | "queued" | "testing" | "paused" | "sent" | "canceled" | "failed" | (string & {})
  /** Id of the domain of `from`. */
  domain_id: string
  /** Id of the audience that gets it. With `segment_id` too: contacts that are in both. */
  audience_id: string | null
  /** Id of the segment that gets it. */
  segment_id: string | null
  /** Id of the topic to which its recipients are subscribed. */
  topic_id: string | null
  /** Sender. */
  from: string
  /** Addresses that replies go to. */
  reply_to: string[]
  /** Subject, with placeholders; null: that of the template. */
  subject: string | null
  /** Text that inboxes show beside the subject. */
  preview_text: string | null
  /** Id of the template that its content comes from. */
  template_id: string | null
  /** True if opens are tracked; null: as its domain says. */
  track_opens: boolean | null
  /** True if clicks are tracked; null: as its domain says. */
  track_clicks: boolean | null
  /** Its A/B test; null: none. */
  ab_test: AbTest | null
  /** How it recurs; null: it is sent once. */
  recurrence: "daily" | "weekly" | "monthly" | null | (string & {})
  /** Days, weeks or months from one run to the next. */
  recurrence_every: number | null
  /** IANA time zone of the time of day at which it is sent. */
  timezone: string
  /** True if each recipient gets it at this time of day in their own time zone. */
  send_in_local_time: boolean
  /** Contacts who were sent a campaign within this many hours are left out; null: nobody is. */
  skip_if_mailed_within_hours: number | null
  /** Contacts who were sent campaigns for this many days and opened none are left out; null: nobody is. */
  exclude_unengaged_days: number | null
  /** Number of contacts that it is sent to in the latest run, without those who were left out. 0 until all are found. */
  recipients_count: number
  /** When it is or was to be sent. For a recurring campaign: the next run, or the current one. */
  scheduled_at: string | null
  /** When sending began, in the latest run. */
  started_at: string | null
  /** When nothing of it was left to send, in the latest run. */
  sent_at: string | null
  /** When it was paused. */
  paused_at: string | null
  /** Why it is paused, or why nothing of it is sent at the moment. */
  pause_reason: string | null
  /** Why it failed. */
  error: string | null
  created_at: string
  updated_at: string
  /** HTML part, with placeholders. */
  html: string | null
  /** Plain-text part; null: derived from `html`. */
  text: string | null
  /** Its poll; null: none. */
  poll: PollForm | null
  /** Problems that recipients or their mail servers may object to, and links whose host depends on a value, in words. They do not prevent the campaign from being sent. */
  warnings?: string[]
}

export type DecidedCampaign = {
  object: "campaign"
  id: string
  /** Number of recipients that were in doubt. */
  decided: number
}

export type DecidedEmail = {
  object: "email"
  id: string
}

export type DelayStep = {
  /** Unique in the automation: 1 to 100 letters, digits, `_`, `-` or `.`. */
  key: string
  /** Type of the step. */
  type: "delay"
  /** What the step does. */
  config: DelayStepConfig
}

export type DelayStepConfig = {
  /** Length of time such as `3 days` or `1 day 12 hours`, up to a year. */
  duration?: string
  /** The next such time of day. */
  until?: DelayUntil
}

export type DelayUntil = {
  /** Time of day, `HH:MM`. */
  time: string
  /** Days that count, such as `monday`. Default: every day. */
  days?: ("sunday" | "monday" | "tuesday" | "wednesday" | "thursday" | "friday" | "saturday")[]
  /** IANA time zone such as `Europe/Berlin`, or `contact`: that of the contact. Default: `UTC`. Default: `UTC`. */
  timezone?: string
}

export type DeletedAudience = {
  object: "audience"
  id: string
  deleted: true
}

export type DeletedAutomation = {
  object: "automation"
  id: string
  deleted: true
}

export type DeletedAutomationStep = {
  object: "automation_step"
  id: string
  deleted: true
}

export type DeletedCampaign = {
  object: "campaign"
  id: string
  deleted: true
}

export type DeletedContact = {
  object: "contact"
  /** Id of the contact; with `erase`, the address if it is no contact. */
  id: string
  deleted: true
  /** The same as `id`. */
  contact: string
  /** With `erase`: how much was erased. */
  erased?: ErasedPerson
}

export type DeletedContactProperty = {
  object: "contact_property"
  id: string
  deleted: true
}

export type DeletedContactSegment = {
  object: "contact_segment"
  id: string
  /** Id of the contact. */
  contact_id: string
  /** Id of the segment. */
  segment_id: string
  /** The same as `segment_id`, as the `resend` package names it. */
  audienceId: string
  deleted: true
}

export type DeletedDomain = {
  object: "domain"
  id: string
  deleted: true
}

export type DeletedEvent = {
  object: "event"
  id: string
  deleted: true
}

export type DeletedReceivedEmail = {
  object: "received_email"
  id: string
  deleted: true
}

export type DeletedSegment = {
  object: "segment"
  id: string
  deleted: true
}

export type DeletedSuppression = {
  object: "suppression"
  id: string
  deleted: true
}

export type DeletedSuppressions = {
  /** In the order of the request. */
  data: {
    object: "suppression"
    /** Id of the suppression; null if the address is not suppressed. */
    id: string | null
    /** The address; null if the id is unknown. */
    email: string | null
    /** True if it existed. */
    deleted: boolean
  }[]
}

export type DeletedTemplate = {
  object: "template"
  id: string
  deleted: true
}

export type DeletedTopic = {
  object: "topic"
  id: string
  deleted: true
}

export type DeletedWebhook = {
  object: "webhook"
  id: string
  deleted: true
}

export type DnsResult = {
  /** Records that were written. */
  applied: {
    /** `TXT`, `MX` or `CNAME`. */
    type: string
    /** Name within the zone. */
    name: string
  }[]
  /** Records that already exist, or that conflict with another record. */
  skipped: {
    /** `TXT`, `MX` or `CNAME`. */
    type: string
    /** Name within the zone. */
    name: string
    /** Why it was not written. */
    message: string
  }[]
  /** Records that the provider refused. */
  failed: {
    /** `TXT`, `MX` or `CNAME`. */
    type: string
    /** Name within the zone. */
    name: string
    /** Why it was not written. */
    message: string
  }[]
  object: "domain_dns_result"
  id: string
  /** Where the records were written. */
  provider: string
  /** Its status while it is checked. */
  status: DomainStatus
}

export type Domain = {
  object: "domain"
  id: string
  /** The domain. */
  name: string
  /** Mail can be sent from it if it is `verified`, `partially_verified` or `partially_failed`. */
  status: DomainStatus
  /** Stored as given, without effect. */
  region: string
  /** Use of the domain. */
  capabilities: Capabilities
  /** True if opens of its emails are counted. If opens or clicks are counted, the domain needs the Tracking record. */
  open_tracking: boolean
  /** The same, for clicks on links. */
  click_tracking: boolean
  /** Subdomain of the Tracking record; null: `track`. */
  tracking_subdomain: string | null
  /** `enforced`: its mail is never sent without TLS. */
  tls: "opportunistic" | "enforced" | (string & {})
  /** Subdomain of the return path. */
  custom_return_path: string
  /** Look of the pages on which recipients unsubscribe. */
  brand: Brand
  /** Postal address of the sender, in the footer of campaigns; null: that of the account. */
  postal_address: string | null
  /** Id of the audience that has all of its contacts. */
  default_audience_id: string
  /** When it was verified. */
  verified_at: string | null
  created_at: string
  updated_at: string
  /** DNS records to publish. */
  records: DomainRecord[]
}

export type DomainChange = {
  /** Subdomain of the return path. Default of a new domain: `send`. */
  custom_return_path?: string
  /** Use of the domain. At least one must be enabled. */
  capabilities?: {
    /** Send mail from it. Default of a new domain: `enabled`. */
    sending?: "enabled" | "disabled"
    /** Receive mail at it. Default of a new domain: `disabled`. */
    receiving?: "enabled" | "disabled"
  }
  /** Count opens of its emails, unless an email has its own setting. Default of a new domain: `false`. */
  open_tracking?: boolean
  /** The same, for clicks on links. */
  click_tracking?: boolean
  /** `enforced`: mail of this domain is never sent without TLS. Default of a new domain: `opportunistic`. */
  tls?: "opportunistic" | "enforced"
  /** Subdomain of the Tracking record. Default of a new domain, and with null: `track`. */
  tracking_subdomain?: string | null
  /** Look of the pages on which recipients unsubscribe. Null: the default. */
  brand?: {
    /** Name of the sender. Default, and with null: the name of the domain. */
    name?: string | null
    /** Color of the buttons, such as `#1a5fb4`. A color on which white text would not be readable is darkened. Null: the default color. */
    color?: string | null
    /** Image above the name, at an https URL. Null: none. */
    logo_url?: string | null
  } | null
  /** Postal address of the sender, in the footer of campaigns: one line of up to 500 characters. Null: that of the account. */
  postal_address?: string | null
}

export type DomainClaim = {
  object: "domain_claim"
  id: string
  /** The domain name. */
  name: string
  /** `verified`: the record was found. `blocked`: the owner still uses the name. */
  status: "pending" | "verified" | "completed" | "blocked" | "expired" | "superseded" | "canceled" | "failed" | (string & {})
  /** Id of the domain that gets the name. */
  domain_id: string
  /** Stored as given, without effect. */
  region: string
  /** The DNS record that proves the claim. */
  record: {
    /** Always `TXT`. */
    type: string
    /** Name of the record. */
    name: string
    /** Text of the record. */
    value: string
    /** `Auto`: any value. */
    ttl: string
  }
  /** How the owner still uses the name. */
  blocked_reason: "grace_period" | "recent_owner_activity" | "pending_scheduled_emails" | null | (string & {})
  /** Why the claim failed. */
  failure_reason: string | null
  created_at: string
  /** When the claim expires if the record is not found. */
  expires_at: string
}

export type DomainDns = {
  object: "domain_dns"
  id: string
  /** The domain. */
  name: string
  /** Provider of the name servers. */
  provider: "Cloudflare" | "GoDaddy" | "Namecheap" | "Amazon Route 53" | "Digital Ocean" | "Vercel" | "Google Domains" | "Unidentified" | (string & {})
  /** Name servers of the zone. */
  nameservers: string[]
  /** True if this server can write the records at the provider. */
  auto_configurable: boolean
}

export type DomainRecord = {
  /** Purpose of the record. */
  record: "DKIM" | "SPF" | "DMARC" | "Receiving" | "Tracking" | (string & {})
  /** Name within the zone. */
  name: string
  /** Type in DNS. */
  type: "TXT" | "MX" | "CNAME" | (string & {})
  /** Text or host name. */
  value: string
  /** Any value. */
  ttl: "Auto"
  /** Priority of an MX record. */
  priority?: number
  /** Result of the last check of DNS. `temporary_failure`: name servers did not respond. */
  status: "not_started" | "pending" | "verified" | "failed" | "temporary_failure" | (string & {})
  /** The mistake in a record that is not verified. */
  problem?: string
}

export type DomainStatus = "not_started" | "pending" | "verified" | "partially_verified" | "partially_failed" | "failed" | (string & {})

export type DoubtDecision = {
  /** `retry`, `release` or `drop`, as for a single email. */
  action: "retry" | "release" | "drop"
}

export type Email = {
  object: "email"
  id: string
  /** Id of the domain of `from`. */
  domain_id: string | null
  /** Message-ID header, with its angle brackets. */
  message_id: string
  /** Sender. */
  from: string
  /** Recipients. */
  to: string[]
  /** Recipients of copies. */
  cc: string[]
  /** Recipients of copies that the others do not see. */
  bcc: string[]
  /** Addresses that replies go to. */
  reply_to: string[]
  /** Subject, with its placeholders replaced. */
  subject: string
  /** `scheduled`, `queued`, `sent`, `delivered`, `delivery_delayed`, `bounced`, `complained`, `failed`, `canceled` or `suppressed`. */
  status: string
  /** The newest of its events, or its status. */
  last_event: string
  /** Tags, by which it can be found. */
  tags: {
    /** As given. */
    name: string
    /** As given. */
    value: string
  }[]
  /** Id of its topic, which may be deleted by now. */
  topic_id: string | null
  /** Id of its template, which may be deleted by now. */
  template_id: string | null
  /** Id of its campaign, which may be deleted by now. */
  campaign_id: string | null
  /** Id of its automation, which may be deleted by now. */
  automation_id: string | null
  /** Id of the contact that its campaign or automation sent it to, which may be deleted by now. */
  contact_id: string | null
  /** When it is or was to be sent; null: immediately. */
  scheduled_at: string | null
  /** When a server accepted it for the first recipient. */
  sent_at: string | null
  created_at: string
  updated_at: string
  /** HTML part. */
  html: string | null
  /** Plain-text part. */
  text: string | null
  /** Additional headers. */
  headers: Record<string, string>
  /** Its events, oldest first. */
  events: EmailEvent[]
  /** Files. */
  attachments: ListedAttachment[]
  /** Recipients without a final result; absent if all have one. */
  queue?: QueueEntry[]
}

export type EmailEvent = {
  /** A status, `in_doubt` or `replied`. */
  type: string
  created_at: string
  /** How it was sent: `relay`, `direct`, `capture` and so on. */
  via?: string
  /** Cause of a refusal: `recipient`, `policy`, `content`, `size`, `sender`, `infrastructure` or `transient`. */
  class?: string
  /** Reply of the server. */
  reply?: string
  /** Explanation, for people. */
  reason?: string
  /** Address of the recipient, if it is about one. */
  recipient?: string
}

export type EmailMetrics = {
  object: "metrics"
  /** Beginning of the range. */
  start_date: string
  /** End of the range. */
  end_date: string
  /** The metrics in this response. */
  metrics: ("received" | "delivered" | "complained" | "suppressed" | "bounced" | "bounced_transient" | "bounced_permanent" | "bounced_undetermined" | "opened" | "clicked" | "unsubscribed" | "delivery_delayed" | "failed" | "sent" | "unique_opened" | "unique_clicked" | "delivery_rate" | "open_rate" | "click_rate" | "bounce_rate" | "complaint_rate" | "unsubscribe_rate" | (string & {}))[]
  /** What `data` is broken down by. */
  dimensions: ("period" | "domain" | "email" | "broadcast" | (string & {}))[]
  /** Length of a period. */
  granularity: "hourly" | "daily" | "weekly" | "monthly" | (string & {})
  /** The metrics of the whole range. */
  totals: EmailMetricsTotals
  /** A row for each combination of the dimensions; missing without dimensions. */
  data?: EmailMetricsRow[]
}

export type EmailMetricsRow = {
  /** Beginning of the period: a date, or `2027-01-31T09:00:00+02:00` with `hourly`. */
  period?: string
  /** Id of the sending or receiving domain; missing: it was deleted. */
  domain_id?: string
  /** Name of the domain; missing: it was deleted. */
  domain_name?: string
  /** Id of the email. */
  email_id?: string
  /** Id of the campaign; missing: email of no campaign. */
  broadcast_id?: string
  /** Name of the campaign; missing: it was deleted. */
  broadcast_name?: string
  /** Recipients of received emails. */
  received?: number
  /** Recipients whose mail server accepted the email, and sent no bounce after that. */
  delivered?: number
  /** Recipients who reported it as spam. They also count as delivered. */
  complained?: number
  /** Recipients of stored emails who were left out: unsubscribed, suppressed or reserved. */
  suppressed?: number
  /** Recipients whose address does not exist, or refuses mail. */
  bounced?: number
  /** Bounces of the type `Transient`. */
  bounced_transient?: number
  /** Bounces of the type `Permanent`. */
  bounced_permanent?: number
  /** Bounces of the type `Undetermined`. */
  bounced_undetermined?: number
  /** Opens by people, and by proxies that load images for them. */
  opened?: number
  /** Clicks by people. */
  clicked?: number
  /** Recipients who unsubscribed by the email. */
  unsubscribed?: number
  /** Recipients whose mail server asked to try again later, once or more. */
  delivery_delayed?: number
  /** Recipients to whom it could not be delivered for another reason. */
  failed?: number
  /** Recipients whose mail server accepted the email. */
  sent?: number
  /** Recipients who opened it. */
  unique_opened?: number
  /** Recipients who clicked a link. */
  unique_clicked?: number
  /** `delivered` of `sent`, or of `delivered` and `bounced` if they are more: a fraction with 4 decimals. */
  delivery_rate?: number
  /** `unique_opened` of `delivered`: a fraction with 4 decimals. */
  open_rate?: number
  /** `unique_clicked` of `delivered`: a fraction with 4 decimals. */
  click_rate?: number
  /** `bounced` of `sent`, or of `delivered` and `bounced` if they are more: a fraction with 4 decimals. */
  bounce_rate?: number
  /** `complained` of `delivered`: a fraction with 4 decimals. */
  complaint_rate?: number
  /** `unsubscribed` of `delivered`: a fraction with 4 decimals. */
  unsubscribe_rate?: number
}

export type EmailMetricsTotals = {
  /** Recipients of received emails. */
  received?: number
  /** Recipients whose mail server accepted the email, and sent no bounce after that. */
  delivered?: number
  /** Recipients who reported it as spam. They also count as delivered. */
  complained?: number
  /** Recipients of stored emails who were left out: unsubscribed, suppressed or reserved. */
  suppressed?: number
  /** Recipients whose address does not exist, or refuses mail. */
  bounced?: number
  /** Bounces of the type `Transient`. */
  bounced_transient?: number
  /** Bounces of the type `Permanent`. */
  bounced_permanent?: number
  /** Bounces of the type `Undetermined`. */
  bounced_undetermined?: number
  /** Opens by people, and by proxies that load images for them. */
  opened?: number
  /** Clicks by people. */
  clicked?: number
  /** Recipients who unsubscribed by the email. */
  unsubscribed?: number
  /** Recipients whose mail server asked to try again later, once or more. */
  delivery_delayed?: number
  /** Recipients to whom it could not be delivered for another reason. */
  failed?: number
  /** Recipients whose mail server accepted the email. */
  sent?: number
  /** Recipients who opened it. */
  unique_opened?: number
  /** Recipients who clicked a link. */
  unique_clicked?: number
  /** `delivered` of `sent`, or of `delivered` and `bounced` if they are more: a fraction with 4 decimals. */
  delivery_rate?: number
  /** `unique_opened` of `delivered`: a fraction with 4 decimals. */
  open_rate?: number
  /** `unique_clicked` of `delivered`: a fraction with 4 decimals. */
  click_rate?: number
  /** `bounced` of `sent`, or of `delivered` and `bounced` if they are more: a fraction with 4 decimals. */
  bounce_rate?: number
  /** `complained` of `delivered`: a fraction with 4 decimals. */
  complaint_rate?: number
  /** `unsubscribed` of `delivered`: a fraction with 4 decimals. */
  unsubscribe_rate?: number
}

export type EngagementFilter = {
  /** What a contact did. */
  event: "clicked" | "not_clicked" | "opened" | "not_opened" | (string & {})
  /** Id of the campaign. One that was deleted finds nobody. */
  campaign_id: string
}

export type ErasedPerson = {
  /** Sent emails whose contents, recipients and events were deleted. */
  emails: number
  /** Emails that are not sent yet. They were not changed. */
  pending_emails: number
  /** Received emails that were deleted. */
  received_emails: number
  /** 1 if a suppression of the address was deleted, else 0. */
  suppressions: number
}

export type EventDefinition = {
  object: "event"
  id: string
  /** Name of the event. */
  name: string
  /** Types by the keys of payloads. */
  schema: Record<string, "string" | "number" | "boolean" | "date" | (string & {})>
  created_at: string
  updated_at: string
}

export type EventDefinitionChange = {
  /** Types by the keys of payloads: `string`, `number`, `boolean` or `date` (an ISO 8601 date or timestamp). Keys that it does not have may hold anything. Null: no types. */
  schema?: Record<string, "string" | "number" | "boolean" | "date"> | null
}

export type EventOrDefinition = NewEventDefinition | NewEvent

export type GodaddyCredentials = {
  /** API key. */
  key: string
  /** Secret of the key. */
  secret: string
}

export type ImportedSuppressions = {
  object: "suppression_import"
  /** Number of records in the file. */
  total: number
  /** Number of addresses that were not suppressed before. */
  created: number
  /** Number of records whose address was already suppressed. */
  updated: number
  /** Number of invalid records. */
  failed: number
  /** The first 1,000 invalid records. */
  errors: {
    /** Line of the file in which the record begins, from 1. */
    line: number
    /** The address as it is in the file. */
    email: string
    /** Why it was left out. */
    message: string
  }[]
}

export type ListOfAttachments = {
  object: "list"
  /** True if there are more items beyond this page. */
  has_more: boolean
  /** The items of this page. */
  data: Attachment[]
}

export type ListOfContactEvents = {
  object: "list"
  /** True if there are more items beyond this page. */
  has_more: boolean
  /** The items of this page. */
  data: ContactEvent[]
}

export type ListedAttachment = {
  id: string
  /** Name of the file. */
  filename: string
  /** MIME type. */
  content_type: string
  /** `inline`: shown within the content. */
  content_disposition: "attachment" | "inline" | (string & {})
  /** Name that the HTML shows it by, as `cid:CONTENT_ID`. */
  content_id: string | null
  /** Bytes; null until a file with a `path` is fetched. */
  size: number | null
}

export type ListedAutomation = {
  object: "automation"
  id: string
  /** Name for people. */
  name: string
  /** `enabled`: its event makes contacts enter. Runs that have started continue in any case. */
  status: "enabled" | "disabled" | (string & {})
  /** Id of the domain whose contacts enter. */
  domain_id: string
  /** Name of that domain. */
  domain: string
  /** Name of the event that makes contacts enter; null: it has no step yet. */
  trigger: string | null
  /** `always`: each event starts a run. `while_not_running`: not while the contact has one. `once`: one run per contact, ever. */
  reentry: "always" | "while_not_running" | "once" | (string & {})
  /** `transactional`: its emails also go to contacts that have unsubscribed, but never to suppressed addresses. */
  purpose: "marketing" | "transactional" | (string & {})
  /** Version of its steps for contacts that enter now. Runs that have started keep their version. */
  version: number
  /** How often a contact did not enter because of a limit or of the quota. */
  limited: number
  created_at: string
  updated_at: string
}

export type ListedAutomationRun = {
  object: "automation_run"
  id: string
  /** Id of the automation. */
  automation_id: string
  /** Version of the automation that it uses. */
  version: number
  /** Id of the contact. */
  contact_id: string
  /** Address of the contact when the run began. */
  contact_email: string
  /** `skipped`: it ended without doing its work, because it was stopped or its contact gets no mail. */
  status: "running" | "completed" | "failed" | "skipped" | (string & {})
  /** Why it failed or was skipped. If its emails were not sent: the `output.reason` of the last one. */
  error: string | null
  /** When the contact entered. */
  started_at: string
  /** When it ended; null: it has not. */
  completed_at: string | null
  created_at: string
}

export type ListedCampaign = {
  object: "campaign"
  id: string
  /** Name for people; may be empty. */
  name: string
  /** `queued`: it is being sent. `sent`: nothing of it is left to send. `failed`: `error` says why it was not sent. */
  status: "draft" | "scheduled" | "queued" | "testing" | "paused" | "sent" | "canceled" | "failed" | (string & {})
  /** Id of the domain of `from`. */
  domain_id: string
  /** Id of the audience that gets it. With `segment_id` too: contacts that are in both. */
  audience_id: string | null
  /** Id of the segment that gets it. */
  segment_id: string | null
  /** Id of the topic to which its recipients are subscribed. */
  topic_id: string | null
  /** Sender. */
  from: string
  /** Addresses that replies go to. */
  reply_to: string[]
  /** Subject, with placeholders; null: that of the template. */
  subject: string | null
  /** Text that inboxes show beside the subject. */
  preview_text: string | null
  /** Id of the template that its content comes from. */
  template_id: string | null
  /** True if opens are tracked; null: as its domain says. */
  track_opens: boolean | null
  /** True if clicks are tracked; null: as its domain says. */
  track_clicks: boolean | null
  /** Its A/B test; null: none. */
  ab_test: AbTest | null
  /** How it recurs; null: it is sent once. */
  recurrence: "daily" | "weekly" | "monthly" | null | (string & {})
  /** Days, weeks or months from one run to the next. */
  recurrence_every: number | null
  /** IANA time zone of the time of day at which it is sent. */
  timezone: string
  /** True if each recipient gets it at this time of day in their own time zone. */
  send_in_local_time: boolean
  /** Contacts who were sent a campaign within this many hours are left out; null: nobody is. */
  skip_if_mailed_within_hours: number | null
  /** Contacts who were sent campaigns for this many days and opened none are left out; null: nobody is. */
  exclude_unengaged_days: number | null
  /** Number of contacts that it is sent to in the latest run, without those who were left out. 0 until all are found. */
  recipients_count: number
  /** When it is or was to be sent. For a recurring campaign: the next run, or the current one. */
  scheduled_at: string | null
  /** When sending began, in the latest run. */
  started_at: string | null
  /** When nothing of it was left to send, in the latest run. */
  sent_at: string | null
  /** When it was paused. */
  paused_at: string | null
  /** Why it is paused, or why nothing of it is sent at the moment. */
  pause_reason: string | null
  /** Why it failed. */
  error: string | null
  created_at: string
  updated_at: string
}

export type ListedContactImport = {
  object: "contact_import"
  id: string
  /** Id of the domain. */
  domain_id: string
  /** Id of the audience that the contacts join. */
  audience_id: string | null
  /** `failed`: the file was not read to its end. */
  status: "queued" | "in_progress" | "completed" | "failed" | (string & {})
  /** Counts of the records that have been processed so far. */
  counts: ContactCounts
  /** Number of records in the file; null until they are counted. */
  records: number | null
  /** Columns of the file that are not imported. */
  ignored_columns: string[]
  /** Why the file was not read to its end. */
  error: string | null
  /** True once more than 100,000 records were skipped: repeated addresses are then counted, and not listed. */
  errors_cut: boolean
  created_at: string
  /** When the import ended. */
  completed_at: string | null
}

export type ListedDomain = {
  object: "domain"
  id: string
  /** The domain. */
  name: string
  /** Mail can be sent from it if it is `verified`, `partially_verified` or `partially_failed`. */
  status: DomainStatus
  /** Stored as given, without effect. */
  region: string
  /** Use of the domain. */
  capabilities: Capabilities
  /** True if opens of its emails are counted. If opens or clicks are counted, the domain needs the Tracking record. */
  open_tracking: boolean
  /** The same, for clicks on links. */
  click_tracking: boolean
  /** Subdomain of the Tracking record; null: `track`. */
  tracking_subdomain: string | null
  /** `enforced`: its mail is never sent without TLS. */
  tls: "opportunistic" | "enforced" | (string & {})
  /** Subdomain of the return path. */
  custom_return_path: string
  /** Look of the pages on which recipients unsubscribe. */
  brand: Brand
  /** Postal address of the sender, in the footer of campaigns; null: that of the account. */
  postal_address: string | null
  /** Id of the audience that has all of its contacts. */
  default_audience_id: string
  /** When it was verified. */
  verified_at: string | null
  created_at: string
  updated_at: string
}

export type ListedEmail = {
  object: "email"
  id: string
  /** Id of the domain of `from`. */
  domain_id: string | null
  /** Message-ID header, with its angle brackets. */
  message_id: string
  /** Sender. */
  from: string
  /** Recipients. */
  to: string[]
  /** Recipients of copies. */
  cc: string[]
  /** Recipients of copies that the others do not see. */
  bcc: string[]
  /** Addresses that replies go to. */
  reply_to: string[]
  /** Subject, with its placeholders replaced. */
  subject: string
  /** `scheduled`, `queued`, `sent`, `delivered`, `delivery_delayed`, `bounced`, `complained`, `failed`, `canceled` or `suppressed`. */
  status: string
  /** The newest of its events, or its status. */
  last_event: string
  /** Tags, by which it can be found. */
  tags: {
    /** As given. */
    name: string
    /** As given. */
    value: string
  }[]
  /** Id of its topic, which may be deleted by now. */
  topic_id: string | null
  /** Id of its template, which may be deleted by now. */
  template_id: string | null
  /** Id of its campaign, which may be deleted by now. */
  campaign_id: string | null
  /** Id of its automation, which may be deleted by now. */
  automation_id: string | null
  /** Id of the contact that its campaign or automation sent it to, which may be deleted by now. */
  contact_id: string | null
  /** When it is or was to be sent; null: immediately. */
  scheduled_at: string | null
  /** When a server accepted it for the first recipient. */
  sent_at: string | null
  created_at: string
  updated_at: string
}

export type ListedLog = {
  object: "log"
  id: string
  created_at: string
  /** Path below `/api`, without the query. */
  endpoint: string
  /** HTTP method. */
  method: string
  /** HTTP status of the response. */
  response_status: number
  /** User-Agent header of the request. */
  user_agent: string
}

export type ListedPoll = {
  object: "poll"
  id: string
  /** Id of the email that asks; null: several emails do. */
  email_id: string | null
  /** Id of the campaign that asks. */
  campaign_id: string | null
  /** Id of the automation that asks. */
  automation_id: string | null
  /** Key of its step. */
  step: string | null
  /** The question. */
  question: string
  /** Recipients who have answered. */
  responses_count: number
  /** When an answer was last given or changed. */
  last_response_at: string | null
  /** When the email was accepted, or the campaign started. */
  created_at: string
}

export type ListedReceivedEmail = {
  object: "received_email"
  id: string
  /** Id of the first domain that received it; null after it was deleted. */
  domain_id: string | null
  /** Envelope sender; empty for bounces. */
  mail_from: string
  /** Addresses in To. */
  to: string[]
  /** Address in From. */
  from: string
  /** Name in From. */
  from_name: string | null
  /** Subject; in lists the first 1,000 characters. */
  subject: string
  /** Addresses in Cc. */
  cc?: string[]
  /** Addresses in Bcc. */
  bcc?: string[]
  /** Addresses in Reply-To. */
  reply_to?: string[]
  /** Addresses of the account in the envelope. */
  received_for?: string[]
  /** Message-ID header. */
  message_id?: string
  /** Meaning of a reply: `interested`, `neutral` or `not_interested`; null if unclear, or no reply. */
  category: string | null
  /** Id of the sent email that it replies to. */
  reply_to_email_id: string | null
  /** True if it was marked as read. */
  read: boolean
  /** When it was first marked as read. */
  read_at: string | null
  /** Result of SPF in the terms of RFC 7208, such as `pass` or `softfail`. */
  spf?: string
  /** Results of `spf`, `dkim`, `dmarc`, `spam` and `virus`: `PASS`, `FAIL`, `GRAY`, `PROCESSING_FAILED` or `DISABLED`. */
  verdicts?: Record<string, string>
  /** True while the raw message is stored. */
  raw_available: boolean
  /** The raw message. */
  raw?: {
    /** URL of the raw message. It needs the API key. */
    download_url: string
  }
  /** URL of the raw message without the host. */
  raw_url?: string
  /** Files; in lists the first 20. */
  attachments?: ReceivedAttachment[]
  /** Number of files. */
  attachments_count?: number
  /** Number of all addresses, if the lists above are cut. */
  recipients_count?: number
  /** Why a part of it could not be parsed. */
  parse_error?: string
  created_at: string
}

export type ListedSegment = {
  object: "segment"
  id: string
  /** Id of the default audience of its domain. */
  audience_id: string
  /** Name. */
  name: string
  /** Conditions that a contact must all meet. */
  filter: SegmentFilter
  /** More conditions, as they were given. */
  rules: Record<string, unknown> | null
  created_at: string
  updated_at: string
}

export type ListedTemplate = {
  object: "template"
  id: string
  /** Name that requests may use in place of the id. */
  alias: string | null
  /** Name for people. */
  name: string
  /** `draft`: it was never published, and no email can use it. */
  status: "draft" | "published" | (string & {})
  /** Subject of emails that have none; empty if there is none. */
  subject: string
  /** When it was last published. */
  published_at: string | null
  created_at: string
  updated_at: string
}

export type ListedWebhookEvent = {
  object: "webhook_event"
  id: string
  /** Type of the event, such as `email.delivered`. */
  type: string
  created_at: string
  /** `pending`: waits for an attempt. `attempting`: is being sent. */
  status: "success" | "pending" | "failed" | "attempting" | (string & {})
}

export type Log = {
  object: "log"
  id: string
  created_at: string
  /** Path below `/api`, without the query. */
  endpoint: string
  /** HTTP method. */
  method: string
  /** HTTP status of the response. */
  response_status: number
  /** User-Agent header of the request. */
  user_agent: string
  /** The first 64 KiB of the body, with secrets replaced by `[redacted]`; null without a body. */
  request_body: unknown
  /** The first 64 KiB of the body, with secrets replaced by `[redacted]`; null without a body. */
  response_body: unknown
}

export type MarkedReceivedEmail = {
  object: "received_email"
  id: string
  /** Always true. */
  read: true
  /** When it was first marked as read. */
  read_at: string
}

export type MovedCampaign = {
  object: "campaign"
  id: string
  /** Its new status. */
  status: "draft" | "scheduled" | "queued" | "testing" | "paused" | "sent" | "canceled" | "failed" | (string & {})
}

export type MxCheck = {
  /** True if the name has a mail server. */
  has_mx: boolean
  /** True if all its MX records lead to this server. */
  ours: boolean
  /** Its MX records. */
  records: {
    /** Host name of the mail server; empty if the domain accepts no mail. */
    exchange: string
    /** The lowest number is tried first. */
    priority: number
  }[]
  object: "mx_check"
  /** The name that was looked up. */
  name: string
}

export type NamecheapCredentials = {
  /** API key. */
  api_key: string
  /** User that the key belongs to. */
  api_user: string
  /** User that the domain belongs to. Default: `api_user`. */
  user_name?: string | null
}

export type NewAttachment = {
  /** Default: the last segment of `path`, or `attachment`. */
  filename?: string | null
  /** The file in base64. Give either `content` or `path`. A list of its bytes, as numbers, is accepted too. */
  content?: string | Uint8Array | null
  /** URL that the file is fetched from when the email is sent. */
  path?: string | null
  /** MIME type. Default: by the extension of the filename. */
  content_type?: string | null
  /** Default: `inline` with a `content_id`, else `attachment`. */
  content_disposition?: "attachment" | "inline" | null
  /** Lets the HTML show an image, as `cid:CONTENT_ID`. */
  content_id?: string | null
  /** An older name of `content_id` in libraries of Resend. */
  inline_content_id?: string | null
}

export type NewAudience = {
  /** One line of 1 to 255 characters. Unique among the audiences of the domain. */
  name: string
  /** Name or id of the domain. Default: that of the API key, or the only one of the account. */
  domain?: string | null
}

export type NewAudienceContact = {
  /** The address, without a name. Unique among the contacts of the domain. */
  email: string
  /** One line of up to 255 characters. Null clears it. */
  first_name?: string | null
  /** One line of up to 255 characters. Null clears it. */
  last_name?: string | null
  /** `true`: the contact gets no campaigns. Only an explicit `false` undoes an opt-out. */
  unsubscribed?: boolean | null
  /** `true`: opens and clicks of mail to it are never tracked, even if the email or its domain enables tracking. */
  do_not_track?: boolean | null
  /** IANA time zone such as `Europe/Berlin`, for campaigns in local time. Null clears it. */
  timezone?: string | null
  /** Up to 100 segments to add it to: ids, or objects with an `id`. */
  segments?: (string | {
    id: string
  })[] | null
  /** Up to 100 choices about topics. */
  topics?: {
    /** Id of the topic. */
    id: string
    /** Choice of the contact. */
    subscription: "opt_in" | "opt_out"
  }[] | null
  /** Values by the keys of contact properties. A value of null removes it. */
  properties?: Record<string, string | number | null> | null
}

export type NewAudienceImport = {
  /** The text of the file. Longer files come in a form. */
  csv: string
  /** Columns whose names differ from those of the fields. The others are still found by their names. */
  column_map?: {
    /** Column of the address. */
    email?: string
    /** Column of the first name. */
    first_name?: string
    /** Column of the last name. */
    last_name?: string
    /** Column that says who has unsubscribed: true or false. */
    unsubscribed?: string
    /** Column that says whose opens and clicks are not tracked: true or false. */
    do_not_track?: string
    /** Column of the IANA time zone. */
    timezone?: string
    /** Columns of choices about topics, by the ids of the topics. */
    topics?: Record<string, {
      /** Column of the choices: `opt_in`, `opt_out`, or empty for none. */
      column: string
    }>
    /** Columns of properties, by the keys of the properties. */
    properties?: Record<string, {
      /** Column of the values. */
      column: string
      /** Default: the type of the property; of a new one, `string`. */
      type?: "string" | "number"
    }>
  } | null
  /** True if unknown columns become properties of the type string, false if they are left out. Default: `true`. */
  create_properties?: boolean
  /** `upsert` changes contacts that exist already, `skip` leaves them as they are. Default: `upsert`. */
  on_conflict?: "upsert" | "skip"
  /** True if `unsubscribed: false` undoes an opt-out. Default: `false`. */
  resubscribe?: boolean
  /** True if contacts that are new or have unsubscribed start automations, as `contact.created` and `contact.unsubscribed`. Default: `false`. */
  trigger_automations?: boolean
  /** Between cells. Default: the most frequent in the header. */
  delimiter?: "," | ";" | "\t" | "|"
  /** Encoding of a file in a form. Default: that of its byte order mark, else UTF-8, or Windows-1252 if it is not UTF-8. */
  encoding?: string
  /** Up to 100 segments to add it to: ids, or objects with an `id`. */
  segments?: (string | {
    id: string
  })[] | null
  /** Up to 100 choices about topics. */
  topics?: {
    /** Id of the topic. */
    id: string
    /** Choice of the contact. */
    subscription: "opt_in" | "opt_out"
  }[] | null
}

export type NewAutomation = {
  /** Name for people: one line of 1 to 255 characters. */
  name: string
  /** `enabled`: contacts enter from now on. `disabled`: no contacts enter, and runs that have started continue. Default: `disabled`. */
  status?: "enabled" | "disabled" | null
  /** `always`: each event starts a run. `while_not_running`: not while the contact has one. `once`: one run per contact, ever. Default: `always`. */
  reentry?: "always" | "while_not_running" | "once" | null
  /** `transactional`: its emails also go to contacts that have unsubscribed, but never to suppressed addresses. Default: `marketing`. */
  purpose?: "marketing" | "transactional" | null
  /** Name or id of the domain whose contacts enter. Default: that of the API key, or the only one of the account. */
  domain?: string | null
  /** Name of the event that makes contacts enter, in place of a step of type `trigger`; that step gets the key `trigger`. */
  trigger?: string | null
  /** Up to 150 steps. */
  steps?: (TriggerStep | SendEmailStep | DelayStep | WaitForEventStep | ConditionStep | ContactUpdateStep | ContactDeleteStep | AddToSegmentStep | RemoveFromSegmentStep)[] | null
  /** How steps follow each other. Default: in the order of the list. */
  connections?: NewAutomationConnection[] | null
}

export type NewAutomationConnection = {
  /** Key of the step at which it begins. */
  from: string
  /** Key of the step that it leads to. */
  to: string
  /** `condition_met` and `condition_not_met` of a condition; `event_received` and `timeout` of `wait_for_event`; `default` of all others. */
  type?: "default" | "condition_met" | "condition_not_met" | "event_received" | "timeout" | null
}

export type NewAutomationRun = {
  /** Id of a contact of the domain of the automation. */
  contact_id?: string | null
  /** Address of the contact, in place of `contact_id`. */
  email?: string | null
  /** Values of the event that it stands for: up to 64 KB of JSON. */
  payload?: Record<string, unknown> | null
}

export type NewAutomationStep = {
  /** Unique in the automation. Default: `step_` and a number. */
  key?: string | null
  /** Type of the step. */
  type: "trigger" | "send_email" | "delay" | "wait_for_event" | "condition" | "contact_update" | "contact_delete" | "add_to_segment" | "remove_from_segment" | "wait" | "branch" | "update_contact"
  /** What the step does, by its type. */
  config?: Record<string, unknown> | null
  /** Key or id of the step that it follows. Default: the last step along the `default` connections. */
  after?: string | null
  /** Type of the connection from that step. Default: `default`. */
  connection_type?: "default" | "condition_met" | "condition_not_met" | "event_received" | "timeout" | null
}

export type NewBatch = NewEmail[]

export type NewCampaign = {
  /** Sender: `email@domain` or `Name <email@domain>`, at a domain of the account. */
  from: string
  /** Name for people: one line of up to 255 characters. */
  name?: string | null
  /** Id of the audience that gets it. With `segment_id` too: contacts that are in both. */
  audience_id?: string | null
  /** Id of the segment that gets it, as it is when the campaign is sent. */
  segment_id?: string | null
  /** Id of a topic. Only contacts who are subscribed to it get the campaign. */
  topic_id?: string | null
  /** Up to 50 addresses that replies go to: a list, or a single one. */
  reply_to?: string | string[] | null
  /** One line of up to 998 characters; may have placeholders. Default: the subject of the template. */
  subject?: string | null
  /** Text that inboxes show beside the subject: one line of up to 998 characters. */
  preview_text?: string | null
  /** HTML part, with placeholders such as `{{first_name|friend}}`. */
  html?: string | null
  /** Plain-text part. Default: derived from `html`. An empty string: no plain-text part. */
  text?: string | null
  /** Id or alias of a template, published when the campaign is sent. Excludes `html` and `text`. */
  template_id?: string | null
  /** True if opens are tracked. Default: the setting of its domain. */
  track_opens?: boolean | null
  /** True if clicks are tracked. Default: the setting of its domain. */
  track_clicks?: boolean | null
  /** Tries 2 to 5 variants on some of the recipients; the rest gets the best. Null: no test. */
  ab_test?: {
    /** `false`: no test. Default: `true`. */
    enabled?: boolean | null
    /** Percentage of the recipients that get the test. Default: 20. With 100 there is no winner. */
    test_percentage?: number | null
    /** The rate by which the winner is chosen. Default: `open_rate`. */
    winner_metric?: "open_rate" | "click_rate" | null
    /** Hours from the last email of the test until the winner is chosen. Default: 4. */
    wait_hours?: number | null
    /** 2 to 5 variants, each with the fields in which it differs. */
    variants?: {
      /** Name of the variant. Default: A, B, C and so on. */
      key?: string | null
      /** One line of up to 998 characters; may have placeholders. Default: the subject of the template. */
      subject?: string | null
      /** Text that inboxes show beside the subject: one line of up to 998 characters. */
      preview_text?: string | null
      /** HTML part, with placeholders such as `{{first_name|friend}}`. */
      html?: string | null
      /** Plain-text part. Default: derived from `html`. An empty string: no plain-text part. */
      text?: string | null
      /** Sender, at the domain of the campaign. */
      from?: string | null
    }[] | null
  } | null
  /** `daily`, `weekly` or `monthly`, from `scheduled_at` on at the same time of day in `timezone`. Null: sent once. */
  recurrence?: "daily" | "weekly" | "monthly" | null
  /** Days, weeks or months from one run to the next, up to 365. Default: 1. Only with `recurrence`. */
  recurrence_every?: number | null
  /** IANA time zone of the time of day at which it is sent. Default: `UTC`. */
  timezone?: string | null
  /** `true`: each recipient gets it at the time of day of `scheduled_at`, in the time zone of the contact. */
  send_in_local_time?: boolean | null
  /** Leaves out contacts who were sent a campaign within this many hours, up to 8,760. Null: nobody is left out. */
  skip_if_mailed_within_hours?: number | null
  /** Leaves out contacts who have been sent campaigns for this many days, up to 730, and opened none in that time. */
  exclude_unengaged_days?: number | null
  /** A question to its recipients, in place of `{{poll}}` or at the end. `{{poll_url:<key>}}` is the link of an option. Default: a poll whose options are the keys of such placeholders, if there are any. */
  poll?: {
    /** The question, one line of up to 300 characters. */
    question: string
    /** 2 to 10 options: labels of up to 80 characters, or objects with `key` and `label`. */
    options: (string | {
      /** Its name: 1 to 80 letters, digits, `_` or `-`. */
      key: string
      /** Text that recipients see, of up to 80 characters. */
      label: string
    })[]
  } | null
  /** `true` sends it immediately, or at `scheduled_at`. Default: it stays a draft. */
  send?: boolean | null
  /** When to send it: an ISO 8601 timestamp, or a phrase such as `in 2 hours` or `tomorrow at 9am` (UTC), at most 30 days ahead. Only with `send`. */
  scheduled_at?: string | Date | null
  /** Number of recipients that you expect. If it differs by more than a tenth, the campaign is not sent. */
  expected_recipients?: number | null
}

export type NewContact = {
  /** The address, without a name. Unique among the contacts of the domain. */
  email: string
  /** One line of up to 255 characters. Null clears it. */
  first_name?: string | null
  /** One line of up to 255 characters. Null clears it. */
  last_name?: string | null
  /** `true`: the contact gets no campaigns. Only an explicit `false` undoes an opt-out. */
  unsubscribed?: boolean | null
  /** `true`: opens and clicks of mail to it are never tracked, even if the email or its domain enables tracking. */
  do_not_track?: boolean | null
  /** IANA time zone such as `Europe/Berlin`, for campaigns in local time. Null clears it. */
  timezone?: string | null
  /** Up to 100 segments to add it to: ids, or objects with an `id`. */
  segments?: (string | {
    id: string
  })[] | null
  /** Up to 100 choices about topics. */
  topics?: {
    /** Id of the topic. */
    id: string
    /** Choice of the contact. */
    subscription: "opt_in" | "opt_out"
  }[] | null
  /** Name or id of the domain. Default: that of the API key, or the only one of the account. */
  domain?: string | null
  /** Id of an audience to join. It implies the domain. */
  audience_id?: string | null
  /** Values by the keys of contact properties. A value of null removes it. */
  properties?: Record<string, string | number | null> | null
}

export type NewContactImport = {
  /** The text of the file. Longer files come in a form. */
  csv: string
  /** Columns whose names differ from those of the fields. The others are still found by their names. */
  column_map?: {
    /** Column of the address. */
    email?: string
    /** Column of the first name. */
    first_name?: string
    /** Column of the last name. */
    last_name?: string
    /** Column that says who has unsubscribed: true or false. */
    unsubscribed?: string
    /** Column that says whose opens and clicks are not tracked: true or false. */
    do_not_track?: string
    /** Column of the IANA time zone. */
    timezone?: string
    /** Columns of choices about topics, by the ids of the topics. */
    topics?: Record<string, {
      /** Column of the choices: `opt_in`, `opt_out`, or empty for none. */
      column: string
    }>
    /** Columns of properties, by the keys of the properties. */
    properties?: Record<string, {
      /** Column of the values. */
      column: string
      /** Default: the type of the property; of a new one, `string`. */
      type?: "string" | "number"
    }>
  } | null
  /** True if unknown columns become properties of the type string, false if they are left out. Default: `true`. */
  create_properties?: boolean
  /** `upsert` changes contacts that exist already, `skip` leaves them as they are. Default: `upsert`. */
  on_conflict?: "upsert" | "skip"
  /** True if `unsubscribed: false` undoes an opt-out. Default: `false`. */
  resubscribe?: boolean
  /** True if contacts that are new or have unsubscribed start automations, as `contact.created` and `contact.unsubscribed`. Default: `false`. */
  trigger_automations?: boolean
  /** Between cells. Default: the most frequent in the header. */
  delimiter?: "," | ";" | "\t" | "|"
  /** Encoding of a file in a form. Default: that of its byte order mark, else UTF-8, or Windows-1252 if it is not UTF-8. */
  encoding?: string
  /** Up to 100 segments to add it to: ids, or objects with an `id`. */
  segments?: (string | {
    id: string
  })[] | null
  /** Up to 100 choices about topics. */
  topics?: {
    /** Id of the topic. */
    id: string
    /** Choice of the contact. */
    subscription: "opt_in" | "opt_out"
  }[] | null
  /** Name or id of the domain. Default: that of the API key, or the only one of the account. */
  domain?: string | null
  /** Id of an audience to join. It implies the domain. */
  audience_id?: string | null
}

export type NewContactProperty = {
  /** 1 to 50 letters, digits or `_`. Unique per account. */
  key: string
  /** Type of its values. */
  type: "string" | "number"
  /** Value for contacts that have none, of the `type` of the property. */
  fallback_value?: string | number | null
}

export type NewDomain = {
  /** The domain, such as `news.acme.com`. */
  name: string
  /** Stored and returned, without effect. Default: `us-east-1`. */
  region?: "us-east-1" | "eu-west-1" | "sa-east-1" | "ap-northeast-1"
  /** Subdomain of the return path. Default of a new domain: `send`. */
  custom_return_path?: string
  /** Use of the domain. At least one must be enabled. */
  capabilities?: {
    /** Send mail from it. Default of a new domain: `enabled`. */
    sending?: "enabled" | "disabled"
    /** Receive mail at it. Default of a new domain: `disabled`. */
    receiving?: "enabled" | "disabled"
  }
  /** Count opens of its emails, unless an email has its own setting. Default of a new domain: `false`. */
  open_tracking?: boolean
  /** The same, for clicks on links. */
  click_tracking?: boolean
  /** `enforced`: mail of this domain is never sent without TLS. Default of a new domain: `opportunistic`. */
  tls?: "opportunistic" | "enforced"
  /** Subdomain of the Tracking record. Default of a new domain, and with null: `track`. */
  tracking_subdomain?: string | null
}

export type NewDomainClaim = {
  /** The domain, such as `news.acme.com`. */
  name: string
  /** Stored and returned, without effect. Default: `us-east-1`. */
  region?: "us-east-1" | "eu-west-1" | "sa-east-1" | "ap-northeast-1"
  /** Subdomain of the return path. Default of a new domain: `send`. */
  custom_return_path?: string
  /** Count opens of its emails, unless an email has its own setting. Default of a new domain: `false`. */
  open_tracking?: boolean
  /** The same, for clicks on links. */
  click_tracking?: boolean
  /** Subdomain of the Tracking record. Default of a new domain, and with null: `track`. */
  tracking_subdomain?: string | null
}

export type NewEmail = {
  /** Sender: `email@domain` or `Name <email@domain>`, at a domain of the account that can send. Required unless a template has one. */
  from?: string | null
  /** 1 to 50 recipients: a list of `email@domain` or `Name <email@domain>`, or a single one. */
  to: string | string[]
  /** One line of up to 998 characters. Required unless a template has one. */
  subject?: string | null
  /** HTML part. */
  html?: string | null
  /** Plain-text part. Default: derived from `html`. An empty string: no plain-text part. */
  text?: string | null
  /** Up to 50 recipients of copies, like `to`. */
  cc?: string | string[] | null
  /** Up to 50 recipients of copies that the others do not see, like `to`. */
  bcc?: string | string[] | null
  /** Up to 50 addresses that replies go to, like `to`. */
  reply_to?: string | string[] | null
  /** Up to 100 additional headers. Those that Mailbrook writes itself are rejected, such as `From`, `Date` and `Message-ID`. */
  headers?: Record<string, string> | null
  /** Up to 50 tags, by which emails can be found. */
  tags?: {
    /** 1 to 256 letters, digits, `_` or `-`. */
    name: string
    /** The same. */
    value: string
  }[] | null
  /** Up to 100 files: each at most 25 MiB, all together at most 40 MiB. */
  attachments?: NewAttachment[] | null
  /** When to send it: an ISO 8601 timestamp, or a phrase such as `in 2 hours` or `tomorrow at 9am` (UTC), at most 30 days ahead. */
  scheduled_at?: string | Date | null
  /** Id or alias of a published template. Excludes `html` and `text`. */
  template_id?: string | null
  /** Id of a topic. Recipients who are not subscribed to it are dropped; the others get unsubscribe headers. */
  topic_id?: string | null
  /** Counts opens. Default: `open_tracking` of the domain. Needs `html`. */
  track_opens?: boolean | null
  /** Counts clicks on links. Default: `click_tracking` of the domain. Needs `html`. */
  track_clicks?: boolean | null
  /** A question to its recipients, in place of `{{poll}}` or at the end. `{{poll_url:<key>}}` is the link of an option. Default: a poll whose options are the keys of such placeholders, if there are any. */
  poll?: {
    /** The question, one line of up to 300 characters. */
    question: string
    /** 2 to 10 options: labels of up to 80 characters, or objects with `key` and `label`. */
    options: (string | {
      /** Its name: 1 to 80 letters, digits, `_` or `-`. */
      key: string
      /** Text that recipients see, of up to 80 characters. */
      label: string
    })[]
  } | null
  /** A published template, in place of `template_id`. Excludes `html` and `text`. */
  template?: TemplateOfEmail | null
  /** Up to 50 values for placeholders by key: strings of up to 2,000 characters, or numbers. */
  variables?: Record<string, string | number> | null
}

export type NewEngagementFilter = {
  /** `not_clicked` and `not_opened` find only contacts that were sent the campaign. */
  event: "clicked" | "not_clicked" | "opened" | "not_opened"
  /** Id of a campaign of the domain. */
  campaign_id: string
}

export type NewEvent = {
  /** Name of the event. Up to 255 characters, which must not begin with `service:`. Required. */
  event?: string | null
  /** The same as `event`. */
  name?: string | null
  /** The same as `event`. */
  event_name?: string | null
  /** Name or id of the domain of the contact. Default: that of the API key. */
  domain?: string | null
  /** Id of the contact. Either this or `email` is required. */
  contact_id?: string | null
  /** Address of the contact, which is created if the domain has none. */
  email?: string | null
  /** Values that automations can use: up to 64 KB of JSON. */
  payload?: Record<string, unknown> | null
  /** The same as `payload`. */
  data?: Record<string, unknown> | null
  /** The same as `payload`. */
  properties?: Record<string, unknown> | null
}

export type NewEventDefinition = {
  /** Unique in the account. Up to 255 characters, which must not begin with `service:`. */
  name: unknown
  /** Types by the keys of payloads: `string`, `number`, `boolean` or `date` (an ISO 8601 date or timestamp). Keys that it does not have may hold anything. */
  schema?: Record<string, "string" | "number" | "boolean" | "date"> | null
}

export type NewForward = {
  /** HTML part. */
  html?: string | null
  /** Plain-text part. Default: derived from `html`. An empty string: no plain-text part. */
  text?: string | null
  /** Up to 50 recipients of copies, like `to`. */
  cc?: string | string[] | null
  /** Up to 50 recipients of copies that the others do not see, like `to`. */
  bcc?: string | string[] | null
  /** Up to 50 addresses that replies go to, like `to`. */
  reply_to?: string | string[] | null
  /** Up to 100 additional headers. Those that Mailbrook writes itself are rejected, such as `From`, `Date` and `Message-ID`. */
  headers?: Record<string, string> | null
  /** Up to 50 tags, by which emails can be found. */
  tags?: {
    /** 1 to 256 letters, digits, `_` or `-`. */
    name: string
    /** The same. */
    value: string
  }[] | null
  /** When to send it: an ISO 8601 timestamp, or a phrase such as `in 2 hours` or `tomorrow at 9am` (UTC), at most 30 days ahead. */
  scheduled_at?: string | Date | null
  /** Counts opens. Default: `open_tracking` of the domain. Needs `html`. */
  track_opens?: boolean | null
  /** Counts clicks on links. Default: `click_tracking` of the domain. Needs `html`. */
  track_clicks?: boolean | null
  /** One line of up to 998 characters. Default: from the original. */
  subject?: string | null
  /** Sender. Default: the address that received the original. */
  from?: string | null
  /** 1 to 50 recipients: a list of `email@domain` or `Name <email@domain>`, or a single one. */
  to: string | string[]
  /** `true` (default): send its content and files. `false`: attach it, below `html` or `text` of your own. */
  passthrough?: boolean | null
}

export type NewPropertyFilter = {
  /** Key of a contact property. */
  key: string
  /** `exists` looks only at own values, the others also at fallback values. `contains` is for strings. */
  operator: "eq" | "contains" | "exists"
  /** Value to compare with. `exists` takes none. */
  value?: string | number
}

export type NewReply = {
  /** HTML part. */
  html?: string | null
  /** Plain-text part. Default: derived from `html`. An empty string: no plain-text part. */
  text?: string | null
  /** Up to 50 recipients of copies, like `to`. */
  cc?: string | string[] | null
  /** Up to 50 recipients of copies that the others do not see, like `to`. */
  bcc?: string | string[] | null
  /** Up to 50 addresses that replies go to, like `to`. */
  reply_to?: string | string[] | null
  /** Up to 100 additional headers. Those that Mailbrook writes itself are rejected, such as `From`, `Date` and `Message-ID`. */
  headers?: Record<string, string> | null
  /** Up to 50 tags, by which emails can be found. */
  tags?: {
    /** 1 to 256 letters, digits, `_` or `-`. */
    name: string
    /** The same. */
    value: string
  }[] | null
  /** When to send it: an ISO 8601 timestamp, or a phrase such as `in 2 hours` or `tomorrow at 9am` (UTC), at most 30 days ahead. */
  scheduled_at?: string | Date | null
  /** Counts opens. Default: `open_tracking` of the domain. Needs `html`. */
  track_opens?: boolean | null
  /** Counts clicks on links. Default: `click_tracking` of the domain. Needs `html`. */
  track_clicks?: boolean | null
  /** One line of up to 998 characters. Default: from the original. */
  subject?: string | null
  /** Sender: `email@domain` or `Name <email@domain>`, at a domain of the account that can send. */
  from: string
  /** Up to 100 files: each at most 25 MiB, all together at most 40 MiB. */
  attachments?: NewAttachment[] | null
  /** Send it to the other recipients of the original as well. Default: `false`. */
  reply_all?: boolean | null
}

export type NewSegment = {
  /** One line of 1 to 255 characters. Unique among the segments of the domain. */
  name: string
  /** Name or id of the domain. Default: that of the API key. */
  domain?: string | null
  /** Conditions, all of which a contact must meet. Null: none. */
  filter?: NewSegmentFilter | null
  /** Conditions that a contact must meet beside those of `filter`: `{field, operator, value}`, or `{and: [...]}`, `{or: [...]}` or `{not: ...}` of such. Each of these is a level, and the condition in it another: up to 5. Up to 50 conditions with those of `filter`, of which each of `engagement` or with `contains` counts as three. */
  rules?: Record<string, unknown> | null
}

export type NewSegmentFilter = {
  /** Default: `all`. `members_only`: only contacts that were added by hand. */
  status?: "all" | "subscribed" | "unsubscribed" | "members_only"
  /** Part of the address, ignoring case. Null: any address. */
  email_contains?: string | null
  /** Conditions on properties, all of which must be met. */
  property_filters?: NewPropertyFilter[]
  /** What a contact did with a campaign. Null: anything. */
  engagement?: NewEngagementFilter | null
}

export type NewSuppression = {
  /** The address, without a name. */
  email: string
  /** Why it is suppressed. Default: `manual`. */
  reason?: "bounce" | "complaint" | "manual" | "import"
  /** When the suppression ends: an ISO 8601 timestamp with an offset. Default: never. */
  expires_at?: string | Date | null
}

export type NewSuppressions = {
  /** 1 to 1,000 addresses, without names. */
  emails: string[]
}

export type NewTemplate = {
  /** Name for people: one line of 1 to 255 characters. */
  name: string
  /** HTML part, with placeholders such as `{{first_name|friend}}`. */
  html: string
  /** Subject of emails that have none; may have placeholders. */
  subject?: string | null
  /** Plain-text part; may have placeholders. Without it, it is derived from `html`. */
  text?: string | null
  /** Sender of emails that have none: `email@domain` or `Name <email@domain>`. */
  from?: string | null
  /** Up to 50 addresses for replies: a list, or one text with commas between them. */
  reply_to?: string | string[] | null
  /** Name that requests may use in place of the id: 1 to 64 lower-case letters, digits, `_` or `-`. Unique per account. */
  alias?: string | null
  /** Up to 50 variables. Without any, they are derived from the placeholders. */
  variables?: NewTemplateVariable[] | null
}

export type NewTemplateVariable = {
  /** 1 to 50 letters, digits or `_`. */
  key: string
  /** Type of its values. Default: `string`. */
  type?: "string" | "number"
  /** Value for emails that give none, of the `type` of the variable. */
  fallback_value?: string | number | null
}

export type NewTopic = {
  /** One line of 1 to 50 characters. Unique among the topics of the account. */
  name: string
  /** Up to 200 characters. Null clears it. */
  description?: string | null
  /** `opt_in`: contacts get its mail unless they opt out. `opt_out`: only those who have opted in get it. */
  default_subscription: "opt_in" | "opt_out"
  /** `public`: contacts see it on their preference page. Default: `private`. */
  visibility?: "public" | "private"
  /** Id of the domain whose contacts have it. Default: contacts of every domain. */
  domain_id?: string | null
  /** Name or id of that domain, in place of `domain_id`. */
  domain?: string | null
}

export type NewWebhook = {
  /** URL (http or https) that events are posted to, on a public host. */
  endpoint: string
  /** Events to subscribe to, such as `email.delivered`. `*`: all events. */
  events: ("*" | "all" | "email.scheduled" | "email.sent" | "email.delivered" | "email.delivery_delayed" | "email.bounced" | "email.complained" | "email.opened" | "email.clicked" | "email.failed" | "email.suppressed" | "email.canceled" | "email.received" | "email.replied" | "email.unsubscribed" | "contact.created" | "contact.updated" | "contact.deleted" | "contact.topics.updated" | "contact_import.completed" | "domain.created" | "domain.updated" | "domain.deleted" | "topic.created" | "topic.updated" | "topic.deleted" | "suppression.added" | "suppression.removed" | "campaign.sent" | "campaign.canceled" | "campaign.paused" | "campaign.failed" | "poll.answered")[]
}

export type Poll = {
  object: "poll"
  id: string
  /** Id of the email that asks; null: several emails do. */
  email_id: string | null
  /** Id of the campaign that asks. */
  campaign_id: string | null
  /** Id of the automation that asks. */
  automation_id: string | null
  /** Key of its step. */
  step: string | null
  /** The question. */
  question: string
  /** Recipients who have answered. */
  responses_count: number
  /** When an answer was last given or changed. */
  last_response_at: string | null
  /** When the email was accepted, or the campaign started. */
  created_at: string
  /** Subject of the email or campaign. */
  subject: string
  /** Recipients whose mail servers accepted the email. */
  sent_count: number
  /** The options with their figures, in order. */
  answers: PollAnswer[]
  /** The last answer of each recipient, newest first, at most 500. */
  responses: PollResponse[]
}

export type PollAnswer = {
  /** Key of the option. */
  key: string
  /** Its text. */
  label: string
  /** Recipients whose last answer it is. */
  count: number
  /** Their share of all who have answered, 0 to 100, with two decimals. */
  percentage: number
}

export type PollForm = {
  /** The question. */
  question: string
  /** The options, in order. */
  options: PollOption[]
}

export type PollOption = {
  /** Name of the option in `{{poll_url:…}}` and in answers. */
  key: string
  /** Text that recipients see. */
  label: string
}

export type PollResponse = {
  /** Address of the recipient. */
  email: string
  /** Id of the contact; null if there is none. */
  contact_id: string | null
  /** Key of the option. */
  answer: string
  /** When the recipient gave this answer. */
  answered_at: string
}

export type PropertyFilter = {
  /** Key of a contact property. */
  key: string
  /** Comparison with the value. */
  operator: "eq" | "contains" | "exists" | (string & {})
  /** Value to compare with. `exists` has none. */
  value?: string | number
}

export type PublishedTemplate = {
  object: "template"
  id: string
  /** Id of the version that emails now use. */
  current_version_id: string
  /** Its new status. */
  status: "published"
}

export type QueueEntry = {
  /** The address. */
  recipient: string
  /** `in_doubt`: it may have arrived, and is sent once more. `held`: it may have arrived, and a person decides. */
  state: "queued" | "sending" | "in_doubt" | "held" | (string & {})
  /** Why it is not delivered yet. */
  reason: string
  /** Number of attempts so far. */
  attempts: number
  /** When it is sent again. */
  next_attempt_at: string | null
  /** Last reply of the server. */
  last_reply: string | null
}

export type QuotaUse = {
  /** How much is used. */
  used: number
  /** How much may be used; null: no limit. */
  limit: number | null
}

export type ReadMark = {
  /** Only true: an email cannot be marked as unread. */
  read?: true
}

export type ReceivedAttachment = {
  object: "attachment"
  id: string
  /** Name of the file. */
  filename: string
  /** MIME type. */
  content_type: string
  /** As the sender wrote it, or `attachment`. */
  content_disposition: "attachment" | "inline" | (string & {})
  /** Name that the HTML shows it by, as `cid:CONTENT_ID`. */
  content_id: string | null
  /** Bytes. */
  size: number
  /** True while the file is stored. */
  downloadable: boolean
  /** URL of the file. It needs the API key. */
  download_url?: string
  /** The same without the host. */
  url?: string
}

export type ReceivedEmail = {
  object: "received_email"
  id: string
  /** Id of the first domain that received it; null after it was deleted. */
  domain_id: string | null
  /** Envelope sender; empty for bounces. */
  mail_from: string
  /** Addresses in To. */
  to: string[]
  /** Address in From. */
  from: string
  /** Name in From. */
  from_name: string | null
  /** Subject; in lists the first 1,000 characters. */
  subject: string
  /** Addresses in Cc. */
  cc?: string[]
  /** Addresses in Bcc. */
  bcc?: string[]
  /** Addresses in Reply-To. */
  reply_to?: string[]
  /** Addresses of the account in the envelope. */
  received_for?: string[]
  /** Message-ID header. */
  message_id?: string
  /** Meaning of a reply: `interested`, `neutral` or `not_interested`; null if unclear, or no reply. */
  category: string | null
  /** Id of the sent email that it replies to. */
  reply_to_email_id: string | null
  /** True if it was marked as read. */
  read: boolean
  /** When it was first marked as read. */
  read_at: string | null
  /** Result of SPF in the terms of RFC 7208, such as `pass` or `softfail`. */
  spf?: string
  /** Results of `spf`, `dkim`, `dmarc`, `spam` and `virus`: `PASS`, `FAIL`, `GRAY`, `PROCESSING_FAILED` or `DISABLED`. */
  verdicts?: Record<string, string>
  /** True while the raw message is stored. */
  raw_available: boolean
  /** The raw message. */
  raw?: {
    /** URL of the raw message. It needs the API key. */
    download_url: string
  }
  /** URL of the raw message without the host. */
  raw_url?: string
  /** Files; in lists the first 20. */
  attachments?: ReceivedAttachment[]
  /** Number of files. */
  attachments_count?: number
  /** Why a part of it could not be parsed. */
  parse_error?: string
  created_at: string
  /** HTML part. */
  html?: string
  /** Plain-text part. */
  text?: string
  /** Headers by their names in lower case. */
  headers?: Record<string, string>
}

export type RecipientLink = {
  /** The URL. */
  url: string
  /** Clicks by people. */
  clicks: number
}

export type RecipientsPreview = {
  object: "campaign_recipients_preview"
  /** Id of the campaign. */
  campaign_id: string
  /** Contacts in its audience and its segment. */
  contacts: number
  /** Contacts of these who would get it. */
  recipients: number
  /** Contacts who would not get it, by the first reason that applies. */
  left_out: {
    /** They have unsubscribed from everything. */
    unsubscribed: number
    /** They are not subscribed to the topic. */
    not_subscribed_to_topic: number
    /** Their addresses are suppressed. */
    suppressed: number
    /** Their domains are reserved for documentation and tests. */
    reserved_domain: number
    /** They were sent a campaign within `skip_if_mailed_within_hours`. */
    mailed_recently: number
    /** They have opened none of their campaigns for `exclude_unengaged_days`. */
    unengaged: number
  }
}

export type RecordsExport = {
  object: "domain_records_export"
  id: string
  /** The domain. */
  name: string
  /** As requested. */
  format: "zone" | "csv" | "json" | (string & {})
  /** Name for the file. */
  filename: string
  /** MIME type of the file. */
  content_type: string
  /** The file. */
  content: string
}

export type RemoveFromSegmentStep = {
  /** Unique in the automation: 1 to 100 letters, digits, `_`, `-` or `.`. */
  key: string
  /** Type of the step. */
  type: "remove_from_segment"
  /** What the step does. */
  config: SegmentStepConfig
}

export type RemovedContact = {
  object: "contact"
  id: string
  deleted: true
  /** The same as `id`. */
  contact: string
}

export type RemovedSuppressions = {
  /** 1 to 1,000 addresses. Give either `emails` or `ids`. */
  emails?: string[]
  /** 1 to 1,000 ids of suppressions. */
  ids?: string[]
}

export type RenderedTemplate = {
  object: "rendered_template"
  /** Id of the template. */
  template_id: string
  /** Subject; empty if the template has none. */
  subject: string
  /** HTML part. */
  html: string | null
  /** Plain-text part, derived from `html` if the template has none. */
  text: string | null
}

export type ReplayedWebhook = {
  object: "webhook"
  id: string
  /** Number of events that are sent again. */
  replayed: number
}

export type ReplayedWebhookEvent = {
  object: "webhook_event"
  id: string
}

export type Reschedule = {
  /** When to send it: an ISO 8601 timestamp, or a phrase such as `in 2 hours` or `tomorrow at 9am` (UTC), at most 30 days ahead. */
  scheduled_at: string | Date
}

export type RescheduledEmail = {
  object: "email"
  id: string
  /** When it is sent. */
  scheduled_at: string
}

export type RetriedCampaign = {
  object: "campaign"
  id: string
  /** Its new status. */
  status: "draft" | "scheduled" | "queued" | "testing" | "paused" | "sent" | "canceled" | "failed" | (string & {})
  /** Number of recipients who get it again. */
  recipients: number
}

export type SavedContacts = {
  object: "contact_batch"
  /** All together. */
  total: number
  /** New contacts. */
  created: number
  /** Contacts that already existed, including those that were not changed. */
  updated: number
  /** Records that were left out, because the address occurs twice or by `on_conflict`. */
  skipped: number
  /** Invalid records. */
  failed: number
  /** The contacts in the order of the request. Each address occurs once. */
  data: {
    id: string
    /** The address, in lower case. */
    email: string
    /** Fields that were not applied: `unsubscribed`, if it is false and the contact has unsubscribed. */
    skipped?: "unsubscribed"[]
  }[]
  /** The contacts that were left out. */
  errors: {
    /** Index in `contacts`. */
    index: number
    /** The address as it was given. */
    email: string | null
    /** Why it was left out. */
    message: string
  }[]
}

export type Segment = {
  object: "segment"
  id: string
  /** Id of the default audience of its domain. */
  audience_id: string
  /** Name. */
  name: string
  /** Conditions that a contact must all meet. */
  filter: SegmentFilter
  /** More conditions, as they were given. */
  rules: Record<string, unknown> | null
  created_at: string
  updated_at: string
  /** Number of its contacts at `counted_at`. Null before they were counted. */
  contacts_count: number | null
  /** Time at which they were counted. */
  counted_at: string | null
}

export type SegmentChange = {
  /** One line of 1 to 255 characters. Unique among the segments of the domain. */
  name?: string
  /** Conditions, all of which a contact must meet. Null: none. */
  filter?: NewSegmentFilter | null
  /** Conditions that a contact must meet beside those of `filter`: `{field, operator, value}`, or `{and: [...]}`, `{or: [...]}` or `{not: ...}` of such. Each of these is a level, and the condition in it another: up to 5. Up to 50 conditions with those of `filter`, of which each of `engagement` or with `contains` counts as three. */
  rules?: Record<string, unknown> | null
}

export type SegmentFilter = {
  /** `members_only`: only contacts that were added by hand. */
  status: "all" | "subscribed" | "unsubscribed" | "members_only" | (string & {})
  /** Part of the address, ignoring case. */
  email_contains: string | null
  /** Conditions on properties, all of which must be met. */
  property_filters: PropertyFilter[]
  /** What a contact did with a campaign. */
  engagement: EngagementFilter | null
}

export type SegmentStepConfig = {
  /** Id of a segment of the domain. */
  segment_id: string
}

export type SendEmailStep = {
  /** Unique in the automation: 1 to 100 letters, digits, `_`, `-` or `.`. */
  key: string
  /** Type of the step. */
  type: "send_email"
  /** What the step does. */
  config: SendEmailStepConfig
}

export type SendEmailStepConfig = {
  /** Template to send. Excludes `html` and `text`. */
  template?: AutomationTemplate | null
  /** Sender: `email@domain` or `Name <email@domain>`. Default: that of the template. */
  from?: string | null
  /** One line of up to 998 characters; may have placeholders. Default: that of the template. */
  subject?: string | null
  /** Up to 50 addresses that replies go to. Default: those of the template. */
  reply_to?: string | string[] | null
  /** Id of a topic: contacts who are not subscribed to it do not get the email. */
  topic_id?: string | null
  /** HTML part, with placeholders. */
  html?: string | null
  /** Plain-text part. Default: derived from `html`. An empty string: no plain-text part. */
  text?: string | null
  /** A question to its recipients, in place of `{{poll}}` or at the end. `{{poll_url:<key>}}` is the link of an option. */
  poll?: {
    /** The question, one line of up to 300 characters. */
    question: string
    /** 2 to 10 options: labels of up to 80 characters, or objects with `key` and `label`. */
    options: (string | {
      /** Its name: 1 to 80 letters, digits, `_` or `-`. */
      key: string
      /** Text that recipients see, of up to 80 characters. */
      label: string
    })[]
  } | null
}

export type SentAnswer = {
  object: "email"
  id: string
}

export type SentBatch = {
  /** The emails that are sent, in the order of the request. */
  data: SentEmail[]
  /** The emails that a permissive batch left out. */
  errors?: BatchError[]
}

export type SentCampaign = {
  object: "campaign"
  id: string
  /** Its new status. */
  status: "queued" | "testing" | "scheduled" | (string & {})
  /** When it is sent; null: immediately. */
  scheduled_at: string | null
  /** Problems that recipients or their mail servers may object to, and links whose host depends on a value, in words. They do not prevent the campaign from being sent. */
  warnings: string[]
}

export type SentEmail = {
  id: string
}

export type SentEvent = {
  object: "event"
  id: string
  /** Name of the event. */
  event: string
  /** The same as `event`. */
  name: string
  /** Id of the contact. */
  contact_id: string
  /** Number of automations that the contact has entered because of it. */
  enrolled: number
}

export type StartedAutomationRun = {
  object: "automation_run"
  id: string
  /** Id of the automation. */
  automation_id: string
  /** Id of the contact. */
  contact_id: string
  /** `running`. */
  status: "running"
}

export type StoppedAutomation = {
  object: "automation"
  id: string
  /** `disabled`. */
  status: "disabled"
}

export type Suppression = {
  object: "suppression"
  id: string
  /** The address. */
  email: string
  /** Why it is suppressed. */
  reason: "import" | "manual" | "bounce" | "complaint" | (string & {})
  /** Like `reason`, as the `resend` package has it: `import` is `manual`. */
  origin: "bounce" | "complaint" | "manual" | (string & {})
  /** Reply of the server, or the reason given in a report. */
  cause: string | null
  /** Id of the email that caused it. */
  source_email_id: string | null
  /** The same as `source_email_id`. */
  source_id: string | null
  /** It applies to all domains of the account. */
  scope: "account"
  /** When it ends; null: never. */
  expires_at: string | null
  created_at: string
}

export type SuppressionFile = {
  /** The text of the file. */
  csv: string
}

export type Template = {
  object: "template"
  id: string
  /** Name that requests may use in place of the id. */
  alias: string | null
  /** Name for people. */
  name: string
  /** `draft`: it was never published, and no email can use it. */
  status: "draft" | "published" | (string & {})
  /** Subject of emails that have none; empty if there is none. */
  subject: string
  /** When it was last published. */
  published_at: string | null
  created_at: string
  updated_at: string
  /** Id of the newest version, which is shown here. */
  current_version_id: string
  /** True if emails use an older version, or none. */
  has_unpublished_versions: boolean
  /** Sender of emails that have none; empty if there is none. */
  from: string
  /** Addresses for replies, with commas between them. */
  reply_to: string | null
  /** HTML part, with placeholders. */
  html: string
  /** Plain-text part; null: derived from `html`. */
  text: string | null
  /** Variables of this version. */
  variables: TemplateVariable[]
}

export type TemplateChange = {
  /** Name for people: one line of 1 to 255 characters. */
  name?: string
  /** HTML part, with placeholders such as `{{first_name|friend}}`. */
  html?: string
  /** Subject of emails that have none; may have placeholders. */
  subject?: string | null
  /** Plain-text part; may have placeholders. Without it, it is derived from `html`. */
  text?: string | null
  /** Sender of emails that have none: `email@domain` or `Name <email@domain>`. */
  from?: string | null
  /** Up to 50 addresses for replies: a list, or one text with commas between them. */
  reply_to?: string | string[] | null
  /** Name that requests may use in place of the id: 1 to 64 lower-case letters, digits, `_` or `-`. Unique per account. */
  alias?: string | null
  /** Up to 50 variables. Without any, they are derived from the placeholders. */
  variables?: NewTemplateVariable[] | null
}

export type TemplateCopy = {
  /** Name of the copy. Default: `Copy of` and the name of the original. */
  name?: string | null
} | null

export type TemplateOfEmail = {
  /** Id or alias of the template. Give either `id` or `alias`. */
  id?: string | null
  /** Alias of the template. */
  alias?: string | null
  /** Values of variables by key. Those of the email take precedence. */
  variables?: Record<string, string | number> | null
}

export type TemplateRendering = {
  /** Values by key. A variable without one has its fallback value. */
  variables?: Record<string, string | number> | null
} | null

export type TemplateVariable = {
  id: string
  /** Name in placeholders. */
  key: string
  /** Type of its values. */
  type: "string" | "number" | (string & {})
  /** Value for emails that give none. */
  fallback_value: string | number | null
  created_at: string
  updated_at: string
}

export type TestEmail = {
  id: string
  /** The address. */
  to: string
  /** Key of the variant; null: the campaign has no A/B test. */
  variant: string | null
}

export type TestedCampaign = {
  object: "campaign"
  id: string
  /** The emails, in the order of the addresses. */
  emails: TestEmail[]
}

export type TopLink = {
  /** The URL. */
  url: string
  /** Clicks by people. */
  clicks: number
  /** Recipients who clicked it. */
  unique_clicks: number
}

export type Topic = {
  object: "topic"
  id: string
  /** Name of the topic. */
  name: string
  /** Subject of the mail with this topic, as recipients see it. */
  description: string | null
  /** Subscription of contacts that have not chosen. */
  default_subscription: "opt_in" | "opt_out" | (string & {})
  /** `public`: contacts see it on their preference page. */
  visibility: "public" | "private" | (string & {})
  /** Id of the domain whose contacts have it; null: contacts of every domain. */
  domain_id: string | null
  created_at: string
  updated_at: string
}

export type TopicChange = {
  /** One line of 1 to 50 characters. Unique among the topics of the account. */
  name?: string
  /** Up to 200 characters. Null clears it. */
  description?: string | null
  /** `public`: contacts see it on their preference page. */
  visibility?: "public" | "private"
}

export type TopicChoices = {
  /** Up to 100 choices about topics. */
  topics: {
    /** Id of the topic. */
    id: string
    /** Choice of the contact. */
    subscription: "opt_in" | "opt_out"
  }[]
}

export type TriedEmail = {
  object: "email"
  id: string
}

export type TriggerStep = {
  /** Unique in the automation: 1 to 100 letters, digits, `_`, `-` or `.`. */
  key: string
  /** Type of the step. */
  type: "trigger"
  /** What the step does. */
  config: TriggerStepConfig
}

export type TriggerStepConfig = {
  /** Name of the event that makes contacts enter. */
  event_name: string
}

export type Usage = {
  object: "usage"
  /** Time of these figures. */
  generated_at: string
  /** Emails sent and received. Each recipient counts as one. */
  emails: {
    /** The last 24 hours. */
    daily: WindowOfUsage
    /** The last 30 days. */
    monthly: WindowOfUsage
  }
  /** Emails available beyond the monthly quota. */
  credits: {
    /** How many are left. */
    remaining: number
  }
  /** Contacts of the account. */
  contacts: QuotaUse
  /** Segments of the account. */
  segments: QuotaUse
  /** Campaigns of the account. */
  broadcasts: QuotaUse
  /** AI credits used in the last 30 days to classify replies. */
  ai_credits: {
    /** How much is used. */
    used: number
    /** How much may be used; null: no limit. */
    limit: number | null
    /** When the first used credit is available again; null: none is used. */
    next_increase_at: string | null
  }
  /** Automation runs started in the last 30 days. */
  automation_runs: {
    /** How much is used. */
    used: number
    /** How much may be used; null: no limit. */
    limit: number | null
    /** When everything that is used now is available again. */
    resets_at: string
  }
  /** Domains of the account. */
  domains: QuotaUse
  /** Limit of send requests per client address. */
  rate_limit: {
    /** Send requests; null: no limit. */
    limit: number | null
    /** Per minute. */
    duration: "1m"
  }
}

export type VerifyingDomain = {
  object: "domain"
  id: string
  /** Its status during the check. */
  status: DomainStatus
}

export type WaitForEventStep = {
  /** Unique in the automation: 1 to 100 letters, digits, `_`, `-` or `.`. */
  key: string
  /** Type of the step. */
  type: "wait_for_event"
  /** What the step does. */
  config: WaitForEventStepConfig
}

export type WaitForEventStepConfig = {
  /** Name of the event that is waited for. */
  event_name: string
  /** How long to wait, such as `1 day`, up to a year. Default: without end. */
  timeout?: string | null
  /** What must hold for the event. Its fields are `event.<key>`. */
  filter_rule?: Record<string, unknown> | null
}

export type Webhook = {
  object: "webhook"
  id: string
  /** URL that events are posted to. */
  endpoint: string
  /** Events that it has subscribed to; `*`: all. */
  events: string[]
  /** A disabled webhook gets no events. */
  status: "enabled" | "disabled" | (string & {})
  /** Failed attempts in a row; 50 disable it. */
  failure_count: number
  /** Result of the last attempt. */
  last_delivery_status: "success" | "failed" | null | (string & {})
  /** When the last attempt ended. */
  last_delivery_at: string | null
  /** `manual`, `too_many_failures` or `endpoint_gone` (status 410). */
  disabled_reason: string | null
  created_at: string
  updated_at: string
}

export type WebhookAttempt = {
  object: "webhook_attempt"
  id: string
  /** Number of the attempt, from 1. */
  attempt: number
  /** Status of the response; 0 without one. */
  http_status_code: number
  /** The first 1 KB of the response. */
  response: string
  /** Why it failed. */
  error: string | null
  /** Duration in milliseconds. */
  ms: number
  /** When it was sent. */
  sent_at: string
}

export type WebhookChange = {
  /** URL (http or https) that events are posted to, on a public host. */
  endpoint?: string
  /** Events to subscribe to, such as `email.delivered`. `*`: all events. */
  events?: ("*" | "all" | "email.scheduled" | "email.sent" | "email.delivered" | "email.delivery_delayed" | "email.bounced" | "email.complained" | "email.opened" | "email.clicked" | "email.failed" | "email.suppressed" | "email.canceled" | "email.received" | "email.replied" | "email.unsubscribed" | "contact.created" | "contact.updated" | "contact.deleted" | "contact.topics.updated" | "contact_import.completed" | "domain.created" | "domain.updated" | "domain.deleted" | "topic.created" | "topic.updated" | "topic.deleted" | "suppression.added" | "suppression.removed" | "campaign.sent" | "campaign.canceled" | "campaign.paused" | "campaign.failed" | "poll.answered")[]
  /** `enabled` resets its failures. */
  status?: "enabled" | "disabled"
}

export type WebhookEvent = {
  object: "webhook_event"
  id: string
  /** Type of the event, such as `email.delivered`. */
  type: string
  created_at: string
  /** `pending`: waits for an attempt. `attempting`: is being sent. */
  status: "success" | "pending" | "failed" | "attempting" | (string & {})
  /** When it is sent again; null: never. */
  next_attempt_at: string | null
  /** Body of its requests. */
  payload: unknown
}

export type WebhookReplay = {
  /** Beginning of the time range: an ISO 8601 date or timestamp with an offset. */
  from: string
  /** End of the time range, exclusive. Default: now. */
  to?: string
  /** Send failed or successful events again. Default: `failed`. */
  status?: "failed" | "success"
  /** Only events of this type. */
  type?: "email.scheduled" | "email.sent" | "email.delivered" | "email.delivery_delayed" | "email.bounced" | "email.complained" | "email.opened" | "email.clicked" | "email.failed" | "email.suppressed" | "email.canceled" | "email.received" | "email.replied" | "email.unsubscribed" | "contact.created" | "contact.updated" | "contact.deleted" | "contact.topics.updated" | "contact_import.completed" | "domain.created" | "domain.updated" | "domain.deleted" | "topic.created" | "topic.updated" | "topic.deleted" | "suppression.added" | "suppression.removed" | "campaign.sent" | "campaign.canceled" | "campaign.paused" | "campaign.failed" | "poll.answered"
}

export type WebhookSecret = {
  object: "webhook"
  id: string
  /** Returned only in this response. */
  signing_secret: string
}

export type WebhookTest = {
  object: "webhook_test"
  id: string
  /** True if the response was `2xx`. */
  ok: boolean
  /** HTTP status of the reply; 0 without one. */
  status: number
  /** Why it failed. */
  error?: string
}

export type WebhookWithSecret = {
  object: "webhook"
  id: string
  /** URL that events are posted to. */
  endpoint: string
  /** Events that it has subscribed to; `*`: all. */
  events: string[]
  /** A disabled webhook gets no events. */
  status: "enabled" | "disabled" | (string & {})
  /** Failed attempts in a row; 50 disable it. */
  failure_count: number
  /** Result of the last attempt. */
  last_delivery_status: "success" | "failed" | null | (string & {})
  /** When the last attempt ended. */
  last_delivery_at: string | null
  /** `manual`, `too_many_failures` or `endpoint_gone` (status 410). */
  disabled_reason: string | null
  created_at: string
  updated_at: string
  /** Returned only in this response. */
  signing_secret: string
}

export type WindowOfUsage = {
  /** How much is used. */
  used: number
  /** How much may be used; null: no limit. */
  limit: number | null
  /** Recipients of sent emails. */
  sent: number
  /** Recipients of received emails. */
  received: number
  /** When the first part of the used quota becomes available again; null: nothing is used. */
  next_increase_at: string | null
  /** When everything that is used now is available again. */
  resets_at: string
}

export type ListEmailsQuery = {
  /** Number of items per page. Default: 20. */
  limit?: number
  /** Id of an item. The page begins after it. */
  after?: string
  /** Id of an item. The page ends before it. */
  before?: string
  /** Only emails of this campaign. */
  campaign_id?: string
  /** `sent`, `failed` and so on are groups of statuses. `transactional`: email that no campaign or automation sent. */
  folder?: "all" | "transactional" | "sent" | "scheduled" | "outbox" | "failed" | "canceled" | "campaigns" | "automations"
  /** One or several of `scheduled`, `queued`, `sent`, `delivered`, `delivery_delayed`, `bounced`, `complained`, `failed`, `canceled`, `suppressed`, `opened`, `clicked`, separated by commas. */
  status?: string | string[]
  /** Text in the subject or an address, ignoring case, or the beginning of an id. */
  q?: string
  /** The same as `q`. */
  search?: string
  /** The same as `q`. */
  query?: string
  /** Only emails from this domain, by its name or id. */
  domain?: string
  /** Only emails from this template, by its id or alias. */
  template_id?: string
  /** Only emails with this tag: `name` or `name:value`. */
  tag?: string
  /** Only emails to this contact from its domain. Excludes `to` and `domain`. */
  contact_id?: string
  /** Only emails from this address. */
  from?: string
  /** Only emails to this address. */
  to?: string
  /** Only what was created after this time: an ISO 8601 date or timestamp with an offset. */
  created_after?: string | Date
  /** Only what was created before this time: an ISO 8601 date or timestamp with an offset. */
  created_before?: string | Date
}

export type GetEmailMetricsQuery = {
  /** Beginning of the range: an ISO 8601 date, which stands for midnight in `timezone`, or a timestamp with an offset. Default: 6 days before the end. */
  start_date?: string | Date
  /** End of the range: an ISO 8601 date, which stands for midnight in `timezone`, or a timestamp with an offset. Default: now. */
  end_date?: string | Date
  /** Timezone of dates and periods: an IANA name such as `Europe/Berlin`. Default: `UTC`. */
  timezone?: string
  /** Length of a period. Default: `daily`. Weeks begin on Monday. */
  granularity?: "hourly" | "daily" | "weekly" | "monthly"
  /** One or several of `received`, `delivered`, `complained`, `suppressed`, `bounced`, `bounced_transient`, `bounced_permanent`, `bounced_undetermined`, `opened`, `clicked`, `unsubscribed`, `delivery_delayed`, `failed`, `sent`, `unique_opened`, `unique_clicked`, `delivery_rate`, `open_rate`, `click_rate`, `bounce_rate`, `complaint_rate`, `unsubscribe_rate`, separated by commas. Default: all. */
  metrics?: string | string[]
  /** One or several of `period`, `domain`, `email`, `broadcast`, separated by commas, by which `data` is broken down. `email` needs `email_id`. */
  dimensions?: string | string[]
  /** Only these domains: up to 100 ids, separated by commas. */
  domain_id?: string | string[]
  /** Only these emails: up to 100 ids, separated by commas. */
  email_id?: string | string[]
  /** Only these campaigns: up to 100 ids, separated by commas. */
  broadcast_id?: string | string[]
}

export type ListReceivedEmailsQuery = {
  /** Number of items per page, at most 100. Default: all, up to 1,000. */
  limit?: number
  /** Id of an item. The page begins after it. */
  after?: string
  /** Id of an item. The page ends before it. */
  before?: string
  /** Only replies to this campaign. */
  campaign_id?: string
  /** Only emails to this domain, by its name or id. */
  domain?: string
  /** Only emails from this contact to its domain. Excludes `from` and `domain`. */
  contact_id?: string
  /** Only emails from this address. */
  from?: string
  /** Only emails to this address, in To, Cc or the envelope. */
  to?: string
  /** Text in the subject or an address, ignoring case. */
  q?: string
  /** Only emails that are, or are not, marked as read. */
  read?: "true" | "false"
  /** Only replies of this category. `none`: only email without a category. */
  category?: "interested" | "neutral" | "not_interested" | "none"
}

export type ListReceivedAttachmentsQuery = {
  /** Number of items per page, at most 100. Default: all, up to 1,000. */
  limit?: number
  /** Id of an item. The page begins after it. */
  after?: string
  /** Id of an item. The page ends before it. */
  before?: string
}

export type ListDomainsQuery = {
  /** Number of items per page, at most 100. Default: all, up to 1,000. */
  limit?: number
  /** Id of an item. The page begins after it. */
  after?: string
  /** Id of an item. The page ends before it. */
  before?: string
}

export type DeleteDomainQuery = {
  /** `true` also deletes the contacts, campaigns and automations of the domain. Without it, a domain that has any is not deleted. */
  with_contacts?: boolean
}

export type CheckMxQuery = {
  /** A host name such as `acme.com`. */
  name: string
}

export type ExportDnsRecordsQuery = {
  /** `zone`: a zone file (RFC 1035). */
  format?: "zone" | "csv" | "json"
}

export type ListContactsQuery = {
  /** Number of items per page, at most 100. Default: all, up to 1,000. */
  limit?: number
  /** Id of an item. The page begins after it. */
  after?: string
  /** Id of an item. The page ends before it. */
  before?: string
  /** Name or id of the domain. Required, unless the API key has a default domain. */
  domain?: string
  /** Id of a segment: only contacts that are in it. */
  segment_id?: string
}

export type GetContactQuery = {
  /** Name or id of the domain, if the path has an address. Default: that of the API key. */
  domain?: string
}

export type DeleteContactQuery = {
  /** Name or id of the domain, if the path has an address. Default: that of the API key. */
  domain?: string
  /** `true` erases the person: it also deletes the contents of email to this address alone, received email from it, and its suppression, unless another domain has a contact of this address. The path may then have an address that is no contact (any more). */
  erase?: boolean
}

export type ExportContactsQuery = {
  /** Name or id of the domain. Default: the default domain of the API key. */
  domain?: string
}

export type ListContactImportsQuery = {
  /** Number of items per page, at most 100. Default: all, up to 1,000. */
  limit?: number
  /** Id of an item. The page begins after it. */
  after?: string
  /** Id of an item. The page ends before it. */
  before?: string
  /** Only imports with this status. */
  status?: "queued" | "in_progress" | "completed" | "failed"
}

export type ListContactImportErrorsQuery = {
  /** Number of items per page, at most 100. Default: all, up to 1,000. */
  limit?: number
  /** Id of an item. The page begins after it. */
  after?: string
  /** Id of an item. The page ends before it. */
  before?: string
}

export type ListContactSegmentsQuery = {
  /** Number of items per page, at most 100. Default: all, up to 1,000. */
  limit?: number
  /** Id of an item. The page begins after it. */
  after?: string
  /** Id of an item. The page ends before it. */
  before?: string
  /** Name or id of the domain, if the path has an address. Default: that of the API key. */
  domain?: string
}

export type AddContactToSegmentQuery = {
  /** Name or id of the domain, if the path has an address. Default: that of the API key. */
  domain?: string
}

export type RemoveContactFromSegmentQuery = {
  /** Name or id of the domain, if the path has an address. Default: that of the API key. */
  domain?: string
}

export type ListContactTopicsQuery = {
  /** Number of items per page, at most 100. Default: all, up to 1,000. */
  limit?: number
  /** Id of an item. The page begins after it. */
  after?: string
  /** Id of an item. The page ends before it. */
  before?: string
  /** Name or id of the domain, if the path has an address. Default: that of the API key. */
  domain?: string
}

export type UpdateContactTopicsQuery = {
  /** Name or id of the domain, if the path has an address. Default: that of the API key. */
  domain?: string
}

export type ListContactPropertiesQuery = {
  /** Number of items per page, at most 100. Default: all, up to 1,000. */
  limit?: number
  /** Id of an item. The page begins after it. */
  after?: string
  /** Id of an item. The page ends before it. */
  before?: string
}

export type ListAudiencesQuery = {
  /** Number of items per page. Default: 20. */
  limit?: number
  /** Id of an item. The page begins after it. */
  after?: string
  /** Id of an item. The page ends before it. */
  before?: string
  /** Only audiences of this domain, by its name or id. */
  domain?: string
}

export type ListAudienceContactsQuery = {
  /** Number of items per page, at most 100. Default: all, up to 1,000. */
  limit?: number
  /** Id of an item. The page begins after it. */
  after?: string
  /** Id of an item. The page ends before it. */
  before?: string
  /** Id of a segment: only contacts that are in it. */
  segment_id?: string
}

export type ListSegmentsQuery = {
  /** Number of items per page, at most 100. Default: all, up to 1,000. */
  limit?: number
  /** Id of an item. The page begins after it. */
  after?: string
  /** Id of an item. The page ends before it. */
  before?: string
  /** Only segments of this domain, by its name or id. */
  domain?: string
}

export type ListSegmentContactsQuery = {
  /** Number of items per page, at most 100. Default: all, up to 1,000. */
  limit?: number
  /** Id of an item. The page begins after it. */
  after?: string
  /** Id of an item. The page ends before it. */
  before?: string
}

export type ListTopicsQuery = {
  /** Number of items per page, at most 100. Default: all, up to 1,000. */
  limit?: number
  /** Id of an item. The page begins after it. */
  after?: string
  /** Id of an item. The page ends before it. */
  before?: string
  /** Only topics of contacts of this domain, by its name or id. */
  domain?: string
}

export type ListCampaignsQuery = {
  /** Number of items per page, at most 100. Default: all, up to 1,000. */
  limit?: number
  /** Id of an item. The page begins after it. */
  after?: string
  /** Id of an item. The page ends before it. */
  before?: string
  /** Only campaigns with this status. */
  status?: "draft" | "scheduled" | "queued" | "testing" | "paused" | "sent" | "canceled" | "failed"
  /** Text in the name or the subject, ignoring case. */
  q?: string
  /** Only campaigns of this domain, by its name or id. */
  domain?: string
}

export type GetCampaignStatsQuery = {
  /** Number of a run of a recurring campaign. Default: the newest run. */
  run?: number
}

export type ListCampaignRunsQuery = {
  /** Number of items per page, at most 100. Default: all, up to 1,000. */
  limit?: number
  /** Id of an item. The page begins after it. */
  after?: string
  /** Id of an item. The page ends before it. */
  before?: string
}

export type GetCampaignEngagementQuery = {
  /** Number of a run of a recurring campaign. Default: the newest run. */
  run?: number
}

export type ListCampaignLinksQuery = {
  /** Number of items per page, at most 100. Default: all, up to 1,000. */
  limit?: number
  /** Id of an item. The page begins after it. */
  after?: string
  /** Id of an item. The page ends before it. */
  before?: string
  /** Number of a run of a recurring campaign. Default: the newest run. */
  run?: number
}

export type ListCampaignRecipientsQuery = {
  /** Number of items per page, at most 100. Default: all, up to 1,000. */
  limit?: number
  /** Id of an item. The page begins after it. */
  after?: string
  /** Id of an item. The page ends before it. */
  before?: string
  /** Number of a run of a recurring campaign. Default: the newest run. */
  run?: number
  /** Only recipients in this state. */
  state?: "pending" | "mailed" | "excluded" | "canceled"
  /** Only recipients to whom this happened. */
  type?: "sent" | "delivered" | "opened" | "clicked" | "bounced" | "complained" | "unsubscribed" | "suppressed"
  /** Only recipients with this type of bounce. */
  bounce_type?: "permanent" | "transient" | "undetermined"
  /** Only the recipient with this address. */
  email?: string
}

export type ListPollsQuery = {
  /** Number of items per page, at most 100. Default: all, up to 1,000. */
  limit?: number
  /** Id of an item. The page begins after it. */
  after?: string
  /** Id of an item. The page ends before it. */
  before?: string
  /** Only the poll of this campaign, by its id. */
  campaign_id?: string
  /** Only polls of the steps of this automation, by its id. */
  automation_id?: string
  /** Only polls in mail from this domain, by its name or id. */
  domain?: string
}

export type ListEventsQuery = {
  /** Number of items per page. Default: 20. */
  limit?: number
  /** Id of an item. The page begins after it. */
  after?: string
  /** Id of an item. The page ends before it. */
  before?: string
}

export type ListAutomationsQuery = {
  /** Number of items per page. Default: 20. */
  limit?: number
  /** Id of an item. The page begins after it. */
  after?: string
  /** Id of an item. The page ends before it. */
  before?: string
  /** Only automations with this status. */
  status?: "enabled" | "disabled"
  /** Only automations of this domain, by its name or id. */
  domain?: string
}

export type ListAutomationRunsQuery = {
  /** Number of items per page. Default: 20. */
  limit?: number
  /** Id of an item. The page begins after it. */
  after?: string
  /** Id of an item. The page ends before it. */
  before?: string
  /** Only runs with these statuses, separated by commas. */
  status?: string | string[]
}

export type ListSuppressionsQuery = {
  /** Number of items per page, at most 100. Default: all, up to 1,000. */
  limit?: number
  /** Id of an item. The page begins after it. */
  after?: string
  /** Id of an item. The page ends before it. */
  before?: string
  /** Only this address, ignoring case. */
  email?: string
  /** Only addresses at this domain. */
  domain?: string
  /** Only suppressions with this reason. */
  reason?: "bounce" | "complaint" | "manual" | "import"
  /** Only suppressions of this origin. */
  origin?: "bounce" | "complaint" | "manual"
}

export type ListTemplatesQuery = {
  /** Number of items per page. Default: 20. */
  limit?: number
  /** Id of an item. The page begins after it. */
  after?: string
  /** Id of an item. The page ends before it. */
  before?: string
  /** Only templates with this status. */
  status?: "draft" | "published"
  /** Text in the name, alias or subject, ignoring case. */
  q?: string
}

export type ListWebhooksQuery = {
  /** Number of items per page. Default: 20. */
  limit?: number
  /** Id of an item. The page begins after it. */
  after?: string
  /** Id of an item. The page ends before it. */
  before?: string
}

export type ListWebhookEventsQuery = {
  /** Number of items per page. Default: 20. */
  limit?: number
  /** Id of an item. The page begins after it. */
  after?: string
  /** Id of an item. The page ends before it. */
  before?: string
  /** Only events with this status. */
  status?: "success" | "pending" | "failed" | "attempting"
  /** Only events of this type. */
  type?: "email.scheduled" | "email.sent" | "email.delivered" | "email.delivery_delayed" | "email.bounced" | "email.complained" | "email.opened" | "email.clicked" | "email.failed" | "email.suppressed" | "email.canceled" | "email.received" | "email.replied" | "email.unsubscribed" | "contact.created" | "contact.updated" | "contact.deleted" | "contact.topics.updated" | "contact_import.completed" | "domain.created" | "domain.updated" | "domain.deleted" | "topic.created" | "topic.updated" | "topic.deleted" | "suppression.added" | "suppression.removed" | "campaign.sent" | "campaign.canceled" | "campaign.paused" | "campaign.failed" | "poll.answered" | "test"
  /** Only what was created after this time: an ISO 8601 date or timestamp with an offset. */
  created_after?: string | Date
  /** Only what was created before this time: an ISO 8601 date or timestamp with an offset. */
  created_before?: string | Date
}

export type ListWebhookAttemptsQuery = {
  /** Number of items per page. Default: 20. */
  limit?: number
  /** Id of an item. The page begins after it. */
  after?: string
  /** Id of an item. The page ends before it. */
  before?: string
}

export type ListLogsQuery = {
  /** Number of items per page. Default: 20. */
  limit?: number
  /** Id of an item. The page begins after it. */
  after?: string
  /** Id of an item. The page ends before it. */
  before?: string
  /** Only requests with this method. */
  method?: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS"
  /** Only responses with this status, such as `422`, or of this class, such as `4xx`. */
  status?: string
  /** Only paths that begin with this, such as `/emails`. */
  endpoint?: string
  /** Text in the path or the User-Agent, ignoring case. */
  q?: string
  /** Only what was created after this time: an ISO 8601 date or timestamp with an offset. */
  created_after?: string | Date
  /** Only what was created before this time: an ISO 8601 date or timestamp with an offset. */
  created_before?: string | Date
}

export type ListApiKeysQuery = {
  /** Number of items per page, at most 100. Default: all, up to 1,000. */
  limit?: number
  /** Id of an item. The page begins after it. */
  after?: string
  /** Id of an item. The page ends before it. */
  before?: string
}
