// Written by `npm run docs` from the OpenAPI document: edit the sources, not this file.

import type { Pages } from '../calls/pages.ts'
import type { BatchOptions, KeyedOptions, Options } from '../calls/options.ts'
import { part, Resource } from '../calls/resource.ts'
import type * as api from './types.ts'

export class DomainClaims extends Resource {
  /** Claim a domain that another account has verified. Returns the TXT record that proves the claim. A repeated call returns the open claim with 200. `POST /domains/claim` */
  create(body: api.NewDomainClaim, options?: Options): Promise<api.DomainClaim> {
    return this.call('POST', '/domains/claim', { body }, options)
  }

  /** Get the newest claim of a domain. `GET /domains/{id}/claim` */
  get(id: string, options?: Options): Promise<api.DomainClaim> {
    return this.call('GET', `/domains/${part(id)}/claim`, {}, options)
  }

  /** Check the record of a claim. Starts a check and returns immediately. `POST /domains/{id}/claim/verify` */
  verify(id: string, options?: Options): Promise<api.DomainClaim> {
    return this.call('POST', `/domains/${part(id)}/claim/verify`, {}, options)
  }
}

export class DomainDns extends Resource {
  /** Detect the DNS provider of a domain. `GET /domains/{id}/dns` */
  detectProvider(id: string, options?: Options): Promise<api.DomainDns> {
    return this.call('GET', `/domains/${part(id)}/dns`, {}, options)
  }

  /** Export the DNS records of a domain as a file. `GET /domains/{id}/dns/export` */
  export(id: string, query: api.ExportDnsRecordsQuery = {}, options?: Options): Promise<api.RecordsExport> {
    return this.call('GET', `/domains/${part(id)}/dns/export`, { query }, options)
  }

  /** Write the DNS records of a domain at Cloudflare. Uses the credentials once and does not store them. Then starts a check of the domain. `POST /domains/{id}/dns/cloudflare` */
  publishAtCloudflare(id: string, body: api.CloudflareCredentials, options?: Options): Promise<api.DnsResult> {
    return this.call('POST', `/domains/${part(id)}/dns/cloudflare`, { body }, options)
  }

  /** Write the DNS records of a domain at GoDaddy. Uses the credentials once and does not store them. Then starts a check of the domain. `POST /domains/{id}/dns/godaddy` */
  publishAtGodaddy(id: string, body: api.GodaddyCredentials, options?: Options): Promise<api.DnsResult> {
    return this.call('POST', `/domains/${part(id)}/dns/godaddy`, { body }, options)
  }

  /** Write the DNS records of a domain at Namecheap. Uses the credentials once and does not store them. Then starts a check of the domain. `POST /domains/{id}/dns/namecheap` */
  publishAtNamecheap(id: string, body: api.NamecheapCredentials, options?: Options): Promise<api.DnsResult> {
    return this.call('POST', `/domains/${part(id)}/dns/namecheap`, { body }, options)
  }
}

export class ContactImports extends Resource {
  /** Import contacts from a CSV file. Takes a CSV file, as `csv` in a JSON body or as the file of a form (multipart/form-data). Its header names the columns: `email`, `first_name`, `last_name`, `unsubscribed`, `do_not_track`, `timezone`, the keys of properties, and `topic:` with the name of a topic. An empty cell leaves the value as it is. If an address occurs twice, the first one wins. A contact that has unsubscribed is subscribed again only with `resubscribe`. `POST /contacts/imports` */
  create(body: api.NewContactImport | api.ContactImportForm, options?: KeyedOptions): Promise<api.ContactImport> {
    return this.call('POST', '/contacts/imports', { body, keyed: true }, options)
  }

  /** List imports of contacts, newest first. `GET /contacts/imports` */
  list(query: api.ListContactImportsQuery = {}, options?: Options): Pages<api.ListedContactImport> {
    return this.pages('/contacts/imports', query, options)
  }

  /** Get an import of contacts, with the first 100 errors of its file. `GET /contacts/imports/{id}` */
  get(id: string, options?: Options): Promise<api.ContactImport> {
    return this.call('GET', `/contacts/imports/${part(id)}`, {}, options)
  }

  /** List the records of a file that were not stored, in the order of the file. With `format=csv`, the response is a CSV file with all of them. `GET /contacts/imports/{id}/errors` */
  errors(id: string, query: api.ListContactImportErrorsQuery = {}, options?: Options): Pages<api.ContactImportError> {
    return this.pages(`/contacts/imports/${part(id)}/errors`, query, options)
  }
}

export class ContactSegments extends Resource {
  /** List the segments that a contact is in, newest first. Includes segments whose filter or rules find the contact, and those that it was added to by hand. `GET /contacts/{id}/segments` */
  list(id: string, query: api.ListContactSegmentsQuery = {}, options?: Options): Pages<api.ListedSegment> {
    return this.pages(`/contacts/${part(id)}/segments`, query, options)
  }

  /** Add a contact to a segment by hand. It stays in the segment even if the filter does not find it. `POST /contacts/{id}/segments/{segment_id}` */
  add(id: string, segment_id: string, query: api.AddContactToSegmentQuery = {}, options?: Options): Promise<api.ContactSegment> {
    return this.call('POST', `/contacts/${part(id)}/segments/${part(segment_id)}`, { query }, options)
  }

  /** Remove a contact from a segment that it was added to by hand. A contact that the filter of the segment finds cannot be removed: 404. `DELETE /contacts/{id}/segments/{segment_id}` */
  remove(id: string, segment_id: string, query: api.RemoveContactFromSegmentQuery = {}, options?: Options): Promise<api.DeletedContactSegment> {
    return this.call('DELETE', `/contacts/${part(id)}/segments/${part(segment_id)}`, { query, removes: { object: 'contact_segment', id: segment_id } }, options)
  }
}

export class ContactTopics extends Resource {
  /** List the topics of a contact, newest first. `subscription` says whether the contact gets the topic; `choice` is what the contact has chosen, or null. `GET /contacts/{id}/topics` */
  list(id: string, query: api.ListContactTopicsQuery = {}, options?: Options): Pages<api.ContactTopic> {
    return this.pages(`/contacts/${part(id)}/topics`, query, options)
  }

  /** Opt a contact in to topics or out of them. Topics that are not listed stay as they are. The list of topics may also be the whole body. `PATCH /contacts/{id}/topics` */
  update(id: string, body: api.TopicChoices, query: api.UpdateContactTopicsQuery = {}, options?: Options): Promise<api.ChangedTopicChoices> {
    return this.call('PATCH', `/contacts/${part(id)}/topics`, { body, query }, options)
  }
}

export class AudienceContacts extends Resource {
  /** Create or change a contact in an audience. If the domain already has a contact with this address, its given fields are changed, it joins the audience, and the status is 200. `POST /audiences/{audience_id}/contacts` */
  create(audience_id: string, body: api.NewAudienceContact, options?: Options): Promise<api.Contact> {
    return this.call('POST', `/audiences/${part(audience_id)}/contacts`, { body }, options)
  }

  /** Create or change up to 10,000 contacts in an audience. All contacts are stored in one transaction, or none. Invalid contacts are left out and listed in `errors`. If an address occurs twice, the last one wins. A contact that has unsubscribed is subscribed again only with `resubscribe`. `POST /audiences/{audience_id}/contacts/batch` */
  batch(audience_id: string, body: api.AudienceContactBatch, options?: Options): Promise<api.SavedContacts> {
    return this.call('POST', `/audiences/${part(audience_id)}/contacts/batch`, { body }, options)
  }

  /** Import contacts into an audience from a CSV file. Takes a CSV file, as `csv` in a JSON body or as the file of a form (multipart/form-data). Its header names the columns: `email`, `first_name`, `last_name`, `unsubscribed`, `do_not_track`, `timezone`, the keys of properties, and `topic:` with the name of a topic. An empty cell leaves the value as it is. If an address occurs twice, the first one wins. A contact that has unsubscribed is subscribed again only with `resubscribe`. `POST /audiences/{audience_id}/contacts/import` */
  import(audience_id: string, body: api.NewAudienceImport | api.ContactImportForm, options?: KeyedOptions): Promise<api.ContactImport> {
    return this.call('POST', `/audiences/${part(audience_id)}/contacts/import`, { body, keyed: true }, options)
  }

  /** List the contacts of an audience, newest first. `GET /audiences/{audience_id}/contacts` */
  list(audience_id: string, query: api.ListAudienceContactsQuery = {}, options?: Options): Pages<api.Contact> {
    return this.pages(`/audiences/${part(audience_id)}/contacts`, query, options)
  }

  /** Get a contact of an audience. `GET /audiences/{audience_id}/contacts/{id}` */
  get(audience_id: string, id: string, options?: Options): Promise<api.Contact> {
    return this.call('GET', `/audiences/${part(audience_id)}/contacts/${part(id)}`, {}, options)
  }

  /** Change a contact of an audience. `PATCH /audiences/{audience_id}/contacts/{id}` */
  update(audience_id: string, id: string, body: api.ContactChange, options?: Options): Promise<api.ChangedContact> {
    return this.call('PATCH', `/audiences/${part(audience_id)}/contacts/${part(id)}`, { body }, options)
  }

  /** Remove a contact from an audience. It stays a contact of the domain, unless the audience is the default audience: then it is deleted. The path may also name a segment, from which only contacts that were added by hand can be removed. `DELETE /audiences/{audience_id}/contacts/{id}` */
  delete(audience_id: string, id: string, options?: Options): Promise<api.RemovedContact> {
    return this.call('DELETE', `/audiences/${part(audience_id)}/contacts/${part(id)}`, { removes: { object: 'contact', id } }, options)
  }
}

export class AutomationSteps extends Resource {
  /** Add a step to an automation. The step that came next now follows the new step, on the first type of connection of the new step. `POST /automations/{id}/steps` */
  add(id: string, body: api.NewAutomationStep, options?: KeyedOptions): Promise<api.AutomationStep> {
    return this.call('POST', `/automations/${part(id)}/steps`, { body, keyed: true }, options)
  }

  /** Change what a step does. `PATCH /automations/{id}/steps/{step_id}` */
  update(id: string, step_id: string, body: api.AutomationStepChange, options?: Options): Promise<api.ChangedAutomationStep> {
    return this.call('PATCH', `/automations/${part(id)}/steps/${part(step_id)}`, { body }, options)
  }

  /** Remove a step from an automation. The steps before it then lead to the step after it. The trigger cannot be removed. `DELETE /automations/{id}/steps/{step_id}` */
  delete(id: string, step_id: string, options?: Options): Promise<api.DeletedAutomationStep> {
    return this.call('DELETE', `/automations/${part(id)}/steps/${part(step_id)}`, { removes: { object: 'automation_step', id: step_id } }, options)
  }
}

export class AutomationRuns extends Resource {
  /** List the runs of an automation, newest first. `GET /automations/{id}/runs` */
  list(id: string, query: api.ListAutomationRunsQuery = {}, options?: Options): Pages<api.ListedAutomationRun> {
    return this.pages(`/automations/${part(id)}/runs`, query, options)
  }

  /** Get a run with the steps that it has reached. `GET /automations/{id}/runs/{run_id}` */
  get(id: string, run_id: string, options?: Options): Promise<api.AutomationRun> {
    return this.call('GET', `/automations/${part(id)}/runs/${part(run_id)}`, {}, options)
  }
}

export class WebhookEvents extends Resource {
  /** List the events of a webhook, newest first. `GET /webhooks/{id}/events` */
  list(id: string, query: api.ListWebhookEventsQuery = {}, options?: Options): Pages<api.ListedWebhookEvent> {
    return this.pages(`/webhooks/${part(id)}/events`, query, options)
  }

  /** Get an event with its payload. `GET /webhooks/{id}/events/{event_id}` */
  get(id: string, event_id: string, options?: Options): Promise<api.WebhookEvent> {
    return this.call('GET', `/webhooks/${part(id)}/events/${part(event_id)}`, {}, options)
  }

  /** List the attempts to send an event, newest first. `GET /webhooks/{id}/events/{event_id}/attempts` */
  attempts(id: string, event_id: string, query: api.ListWebhookAttemptsQuery = {}, options?: Options): Pages<api.WebhookAttempt> {
    return this.pages(`/webhooks/${part(id)}/events/${part(event_id)}/attempts`, query, options)
  }

  /** Send an event again. `POST /webhooks/{id}/events/{event_id}/replay` */
  replay(id: string, event_id: string, options?: KeyedOptions): Promise<api.ReplayedWebhookEvent> {
    return this.call('POST', `/webhooks/${part(id)}/events/${part(event_id)}/replay`, { keyed: true }, options)
  }
}

export class Emails extends Resource {
  /** Send an email. `POST /emails` */
  send(body: api.NewEmail, options?: KeyedOptions): Promise<api.SentEmail> {
    return this.call('POST', '/emails', { body, keyed: true }, options)
  }

  /** Send up to 100 emails. All emails are checked before any is sent. With `X-Batch-Validation: permissive`, invalid emails are left out and listed in `errors`. `POST /emails/batch` */
  batch(body: api.NewBatch, options?: BatchOptions): Promise<api.SentBatch> {
    return this.call('POST', '/emails/batch', { body, keyed: true }, options)
  }

  /** List sent emails, newest first. `GET /emails` */
  list(query: api.ListEmailsQuery = {}, options?: Options): Pages<api.ListedEmail> {
    return this.pages('/emails', query, options)
  }

  /** Get an email. `GET /emails/{id}` */
  get(id: string, options?: Options): Promise<api.Email> {
    return this.call('GET', `/emails/${part(id)}`, {}, options)
  }

  /** Move a scheduled email. `PATCH /emails/{id}` */
  reschedule(id: string, body: api.Reschedule, options?: Options): Promise<api.RescheduledEmail> {
    return this.call('PATCH', `/emails/${part(id)}`, { body }, options)
  }

  /** Cancel a scheduled email. `POST /emails/{id}/cancel` */
  cancel(id: string, options?: Options): Promise<api.CanceledEmail> {
    return this.call('POST', `/emails/${part(id)}/cancel`, {}, options)
  }

  /** Try an email again without waiting for its next attempt. Retries immediately for recipients whose server asked to try again later. `POST /emails/{id}/try-now` */
  tryNow(id: string, options?: Options): Promise<api.TriedEmail> {
    return this.call('POST', `/emails/${part(id)}/try-now`, {}, options)
  }

  /** Send an email in doubt once more. Its recipients may get it twice. `POST /emails/{id}/retry` */
  retry(id: string, options?: Options): Promise<api.DecidedEmail> {
    return this.call('POST', `/emails/${part(id)}/retry`, {}, options)
  }

  /** Treat an email in doubt as delivered. It is not sent again. `POST /emails/{id}/release` */
  release(id: string, options?: Options): Promise<api.DecidedEmail> {
    return this.call('POST', `/emails/${part(id)}/release`, {}, options)
  }

  /** Give up an email in doubt. It is not sent again and becomes `failed`. `POST /emails/{id}/drop` */
  drop(id: string, options?: Options): Promise<api.DecidedEmail> {
    return this.call('POST', `/emails/${part(id)}/drop`, {}, options)
  }

  /** List the attachments of an email. `GET /emails/{id}/attachments` */
  attachments(id: string, options?: Options): Promise<api.ListOfAttachments> {
    return this.call('GET', `/emails/${part(id)}/attachments`, {}, options)
  }

  /** Get an attachment of an email without its content. `GET /emails/{id}/attachments/{attachment_id}` */
  attachment(id: string, attachment_id: string, options?: Options): Promise<api.Attachment> {
    return this.call('GET', `/emails/${part(id)}/attachments/${part(attachment_id)}`, {}, options)
  }

  /** Download an attachment of an email. `GET /emails/{id}/attachments/{attachment_id}/content` */
  download(id: string, attachment_id: string, options?: Options): Promise<Response> {
    return this.file(`/emails/${part(id)}/attachments/${part(attachment_id)}/content`, {}, options)
  }

  /** Get the numbers of emails that were sent, delivered, opened and so on. Figures are kept for 400 days per quarter of an hour. A range includes the quarters in which it begins and ends. `GET /emails/metrics` */
  metrics(query: api.GetEmailMetricsQuery = {}, options?: Options): Promise<api.EmailMetrics> {
    return this.call('GET', '/emails/metrics', { query }, options)
  }
}

export class Received extends Resource {
  /** List received emails, newest first. `GET /emails/receiving` */
  list(query: api.ListReceivedEmailsQuery = {}, options?: Options): Pages<api.ListedReceivedEmail> {
    return this.pages('/emails/receiving', query, options)
  }

  /** Get a received email. `GET /emails/receiving/{id}` */
  get(id: string, options?: Options): Promise<api.ReceivedEmail> {
    return this.call('GET', `/emails/receiving/${part(id)}`, {}, options)
  }

  /** Mark a received email as read. `PATCH /emails/receiving/{id}` */
  markRead(id: string, body: api.ReadMark = {}, options?: Options): Promise<api.MarkedReceivedEmail> {
    return this.call('PATCH', `/emails/receiving/${part(id)}`, { body }, options)
  }

  /** Delete a received email. `DELETE /emails/receiving/{id}` */
  delete(id: string, options?: Options): Promise<api.DeletedReceivedEmail> {
    return this.call('DELETE', `/emails/receiving/${part(id)}`, { removes: { object: 'received_email', id } }, options)
  }

  /** Download a received email as it came. `GET /emails/receiving/{id}/raw` */
  raw(id: string, options?: Options): Promise<Response> {
    return this.file(`/emails/receiving/${part(id)}/raw`, {}, options)
  }

  /** List the attachments of a received email. `GET /emails/receiving/{id}/attachments` */
  attachments(id: string, query: api.ListReceivedAttachmentsQuery = {}, options?: Options): Pages<api.ReceivedAttachment> {
    return this.pages(`/emails/receiving/${part(id)}/attachments`, query, options)
  }

  /** Download an attachment of a received email. `GET /emails/receiving/{id}/attachments/{attachment_id}` */
  download(id: string, attachment_id: string, options?: Options): Promise<Response> {
    return this.file(`/emails/receiving/${part(id)}/attachments/${part(attachment_id)}`, {}, options)
  }

  /** Reply to a received email. `POST /emails/receiving/{id}/reply` */
  reply(id: string, body: api.NewReply, options?: KeyedOptions): Promise<api.SentAnswer> {
    return this.call('POST', `/emails/receiving/${part(id)}/reply`, { body, keyed: true }, options)
  }

  /** Forward a received email. `POST /emails/receiving/{id}/forward` */
  forward(id: string, body: api.NewForward, options?: KeyedOptions): Promise<api.SentAnswer> {
    return this.call('POST', `/emails/receiving/${part(id)}/forward`, { body, keyed: true }, options)
  }
}

export class Domains extends Resource {
  readonly claims = new DomainClaims(this.caller)

  readonly dns = new DomainDns(this.caller)

  /** Add a domain. The response has the DNS records to publish. Mail can be sent from the domain once they are verified. `POST /domains` */
  create(body: api.NewDomain, options?: Options): Promise<api.Domain> {
    return this.call('POST', '/domains', { body }, options)
  }

  /** List domains. `GET /domains` */
  list(query: api.ListDomainsQuery = {}, options?: Options): Pages<api.ListedDomain> {
    return this.pages('/domains', query, options)
  }

  /** Get a domain with its DNS records. `GET /domains/{id}` */
  get(id: string, options?: Options): Promise<api.Domain> {
    return this.call('GET', `/domains/${part(id)}`, {}, options)
  }

  /** Change a domain. Changes the given fields. `name` and `region` cannot be changed. `PATCH /domains/{id}` */
  update(id: string, body: api.DomainChange, options?: Options): Promise<api.ChangedDomain> {
    return this.call('PATCH', `/domains/${part(id)}`, { body }, options)
  }

  /** Delete a domain. `DELETE /domains/{id}` */
  delete(id: string, query: api.DeleteDomainQuery = {}, options?: Options): Promise<api.DeletedDomain> {
    return this.call('DELETE', `/domains/${part(id)}`, { query, removes: { object: 'domain', id } }, options)
  }

  /** Check the DNS records of a domain. Starts a check and returns immediately. The status changes once DNS has responded. `POST /domains/{id}/verify` */
  verify(id: string, options?: Options): Promise<api.VerifyingDomain> {
    return this.call('POST', `/domains/${part(id)}/verify`, {}, options)
  }

  /** Replace the DKIM keys of a domain. Returns the records of the next keys. A repeated call returns the same keys until they are used. `POST /domains/{id}/dkim/rotate` */
  rotateDkim(id: string, options?: Options): Promise<api.Domain> {
    return this.call('POST', `/domains/${part(id)}/dkim/rotate`, {}, options)
  }

  /** Look up the MX records of a name. `GET /domains/mx-check` */
  checkMx(query: api.CheckMxQuery, options?: Options): Promise<api.MxCheck> {
    return this.call('GET', '/domains/mx-check', { query }, options)
  }
}

export class Contacts extends Resource {
  readonly imports = new ContactImports(this.caller)

  readonly segments = new ContactSegments(this.caller)

  readonly topics = new ContactTopics(this.caller)

  /** Create or change a contact. If the domain already has a contact with this address, its given fields are changed, and the status is 200. `POST /contacts` */
  create(body: api.NewContact, options?: Options): Promise<api.Contact> {
    return this.call('POST', '/contacts', { body }, options)
  }

  /** Create or change up to 10,000 contacts. All contacts are stored in one transaction, or none. Invalid contacts are left out and listed in `errors`. If an address occurs twice, the last one wins. A contact that has unsubscribed is subscribed again only with `resubscribe`. `POST /contacts/batch` */
  batch(body: api.ContactBatch, options?: Options): Promise<api.SavedContacts> {
    return this.call('POST', '/contacts/batch', { body }, options)
  }

  /** List the contacts of a domain, newest first. `GET /contacts` */
  list(query: api.ListContactsQuery = {}, options?: Options): Pages<api.Contact> {
    return this.pages('/contacts', query, options)
  }

  /** Get a contact with its opt-ins and opt-outs. `GET /contacts/{id}` */
  get(id: string, query: api.GetContactQuery = {}, options?: Options): Promise<api.ContactWithConsents> {
    return this.call('GET', `/contacts/${part(id)}`, { query }, options)
  }

  /** Change a contact. `domain` is needed only if the path has the email address. `PATCH /contacts/{id}` */
  update(id: string, body: api.ContactChange, options?: Options): Promise<api.ChangedContact> {
    return this.call('PATCH', `/contacts/${part(id)}`, { body }, options)
  }

  /** Delete a contact. Its opt-outs are kept: they apply again if a contact is created for the address. `DELETE /contacts/{id}` */
  delete(id: string, query: api.DeleteContactQuery = {}, options?: Options): Promise<api.DeletedContact> {
    return this.call('DELETE', `/contacts/${part(id)}`, { query, removes: { object: 'contact', id } }, options)
  }

  /** Export the contacts of a domain as a CSV file. Text that a spreadsheet would read as a formula has a `'` before it. An import removes it. `GET /contacts/export` */
  export(query: api.ExportContactsQuery = {}, options?: Options): Promise<Response> {
    return this.file('/contacts/export', query, options)
  }
}

export class ContactProperties extends Resource {
  /** Add a property to contacts. `POST /contact-properties` */
  create(body: api.NewContactProperty, options?: Options): Promise<api.ContactProperty> {
    return this.call('POST', '/contact-properties', { body }, options)
  }

  /** List contact properties, newest first. `GET /contact-properties` */
  list(query: api.ListContactPropertiesQuery = {}, options?: Options): Pages<api.ContactProperty> {
    return this.pages('/contact-properties', query, options)
  }

  /** Get a contact property. `GET /contact-properties/{id}` */
  get(id: string, options?: Options): Promise<api.ContactProperty> {
    return this.call('GET', `/contact-properties/${part(id)}`, {}, options)
  }

  /** Change the fallback value of a contact property. `PATCH /contact-properties/{id}` */
  update(id: string, body: api.ContactPropertyChange, options?: Options): Promise<api.ChangedContactProperty> {
    return this.call('PATCH', `/contact-properties/${part(id)}`, { body }, options)
  }

  /** Delete a contact property and its values. A property that a segment, an enabled automation, a run in progress, or a campaign that is scheduled or being sent uses cannot be deleted. `DELETE /contact-properties/{id}` */
  delete(id: string, options?: Options): Promise<api.DeletedContactProperty> {
    return this.call('DELETE', `/contact-properties/${part(id)}`, { removes: { object: 'contact_property', id } }, options)
  }
}

export class Audiences extends Resource {
  readonly contacts = new AudienceContacts(this.caller)

  /** Create an audience. `POST /audiences` */
  create(body: api.NewAudience, options?: Options): Promise<api.Audience> {
    return this.call('POST', '/audiences', { body }, options)
  }

  /** List audiences, newest first. `GET /audiences` */
  list(query: api.ListAudiencesQuery = {}, options?: Options): Pages<api.Audience> {
    return this.pages('/audiences', query, options)
  }

  /** Get an audience. `GET /audiences/{id}` */
  get(id: string, options?: Options): Promise<api.Audience> {
    return this.call('GET', `/audiences/${part(id)}`, {}, options)
  }

  /** Rename an audience. `PATCH /audiences/{id}` */
  update(id: string, body: api.AudienceChange, options?: Options): Promise<api.ChangedAudience> {
    return this.call('PATCH', `/audiences/${part(id)}`, { body }, options)
  }

  /** Delete an audience. Its contacts stay on the domain. The default audience cannot be deleted. `DELETE /audiences/{id}` */
  delete(id: string, options?: Options): Promise<api.DeletedAudience> {
    return this.call('DELETE', `/audiences/${part(id)}`, { removes: { object: 'audience', id } }, options)
  }
}

export class Segments extends Resource {
  /** Create a segment. A segment contains the contacts that its filter and its rules find, and those that are added by hand. Conditions of `rules` by their `field`: * `email`, `first_name`, `last_name`: `eq`, `contains` (which ignores case), and `exists` for names. * `created_at`: `before` and `after` a date or a timestamp, or `within_days` up to 3,660. * `unsubscribed`: `eq` with `true` or `false`. * `properties.<key>`: `eq`, `contains` and `exists`, or for numbers `eq`, `gt`, `gte`, `lt`, `lte` and `exists`. `exists` looks only at the contact's own values, the others also at fallback values. * `topic`: `eq` with an id finds contacts who get mail about the topic. * `segment`: `eq` with the id of another segment of the domain. The rules of that segment must not name a segment. * `engagement`: `opened`, `not_opened`, `clicked` or `not_clicked` with one of `{campaign_id}`, `{within_days}` and `{count}`. `not_opened` and `not_clicked` find only contacts who were sent that campaign, any campaign within the days, or so many campaigns. A condition with a deleted campaign or topic finds nobody, and neither does its negation. `POST /segments` */
  create(body: api.NewSegment, options?: Options): Promise<api.Segment> {
    return this.call('POST', '/segments', { body }, options)
  }

  /** List segments, newest first. `GET /segments` */
  list(query: api.ListSegmentsQuery = {}, options?: Options): Pages<api.ListedSegment> {
    return this.pages('/segments', query, options)
  }

  /** Get a segment with the number of its contacts. A number that is older than a minute is counted again in the background: repeat the request to get it. `GET /segments/{id}` */
  get(id: string, options?: Options): Promise<api.Segment> {
    return this.call('GET', `/segments/${part(id)}`, {}, options)
  }

  /** Change a segment. Members of `filter` that are left out stay as they are. The segment General cannot be changed. `PATCH /segments/{id}` */
  update(id: string, body: api.SegmentChange, options?: Options): Promise<api.ChangedSegment> {
    return this.call('PATCH', `/segments/${part(id)}`, { body }, options)
  }

  /** Delete a segment. Its contacts are kept. The segment General cannot be deleted, and neither can a segment that another segment, a scheduled campaign, an enabled automation or a run in progress uses. `DELETE /segments/{id}` */
  delete(id: string, options?: Options): Promise<api.DeletedSegment> {
    return this.call('DELETE', `/segments/${part(id)}`, { removes: { object: 'segment', id } }, options)
  }

  /** List the contacts of a segment, newest first. The id of an audience is accepted too. `GET /segments/{id}/contacts` */
  contacts(id: string, query: api.ListSegmentContactsQuery = {}, options?: Options): Pages<api.Contact> {
    return this.pages(`/segments/${part(id)}/contacts`, query, options)
  }
}

export class Topics extends Resource {
  /** Create a topic. Contacts opt in to topics and out of them. An email with a `topic_id` goes only to recipients who are subscribed. `POST /topics` */
  create(body: api.NewTopic, options?: Options): Promise<api.Topic> {
    return this.call('POST', '/topics', { body }, options)
  }

  /** List topics, newest first. `GET /topics` */
  list(query: api.ListTopicsQuery = {}, options?: Options): Pages<api.Topic> {
    return this.pages('/topics', query, options)
  }

  /** Get a topic. `GET /topics/{id}` */
  get(id: string, options?: Options): Promise<api.Topic> {
    return this.call('GET', `/topics/${part(id)}`, {}, options)
  }

  /** Change a topic. `default_subscription` and the domain cannot be changed, since contacts have made their choices based on them. `PATCH /topics/{id}` */
  update(id: string, body: api.TopicChange, options?: Options): Promise<api.ChangedTopic> {
    return this.call('PATCH', `/topics/${part(id)}`, { body }, options)
  }

  /** Delete a topic and the choices of contacts about it. `DELETE /topics/{id}` */
  delete(id: string, options?: Options): Promise<api.DeletedTopic> {
    return this.call('DELETE', `/topics/${part(id)}`, { removes: { object: 'topic', id } }, options)
  }
}

export class Campaigns extends Resource {
  /** Create a campaign. It stays a draft until it is sent: immediately with `send`, or later with `POST /campaigns/:id/send`. `POST /campaigns` */
  create(body: api.NewCampaign, options?: KeyedOptions): Promise<api.CreatedCampaign> {
    return this.call('POST', '/campaigns', { body, keyed: true }, options)
  }

  /** List campaigns, newest first. `GET /campaigns` */
  list(query: api.ListCampaignsQuery = {}, options?: Options): Pages<api.ListedCampaign> {
    return this.pages('/campaigns', query, options)
  }

  /** Get a campaign. `GET /campaigns/{id}` */
  get(id: string, options?: Options): Promise<api.Campaign> {
    return this.call('GET', `/campaigns/${part(id)}`, {}, options)
  }

  /** Change a draft. Fields that are left out stay as they are; null clears a field. To change a scheduled campaign, cancel it first. `PATCH /campaigns/{id}` */
  update(id: string, body: api.CampaignChange, options?: Options): Promise<api.ChangedCampaign> {
    return this.call('PATCH', `/campaigns/${part(id)}`, { body }, options)
  }

  /** Delete a draft or a scheduled campaign. A recurring campaign ends: nothing more of it is sent. A campaign that was sent before can still be read by its id, with its reports. `DELETE /campaigns/{id}` */
  delete(id: string, options?: Options): Promise<api.DeletedCampaign> {
    return this.call('DELETE', `/campaigns/${part(id)}`, { removes: { object: 'campaign', id } }, options)
  }

  /** Copy a campaign as a new draft. `POST /campaigns/{id}/duplicate` */
  duplicate(id: string, body: api.CampaignCopy = {}, options?: KeyedOptions): Promise<api.Campaign> {
    return this.call('POST', `/campaigns/${part(id)}/duplicate`, { body, keyed: true }, options)
  }

  /** Send or schedule a draft. The content and the recipients are determined when sending begins. `POST /campaigns/{id}/send` */
  send(id: string, body: api.CampaignSending = {}, options?: KeyedOptions): Promise<api.SentCampaign> {
    return this.call('POST', `/campaigns/${part(id)}/send`, { body, keyed: true }, options)
  }

  /** Cancel a campaign. A scheduled campaign becomes a draft again. A campaign that is being sent stops for good. `POST /campaigns/{id}/cancel` */
  cancel(id: string, options?: Options): Promise<api.MovedCampaign> {
    return this.call('POST', `/campaigns/${part(id)}/cancel`, {}, options)
  }

  /** Pause a campaign. No more emails of it are sent until it is resumed. `POST /campaigns/{id}/pause` */
  pause(id: string, options?: Options): Promise<api.MovedCampaign> {
    return this.call('POST', `/campaigns/${part(id)}/pause`, {}, options)
  }

  /** Resume a paused campaign. `POST /campaigns/{id}/resume` */
  resume(id: string, options?: Options): Promise<api.MovedCampaign> {
    return this.call('POST', `/campaigns/${part(id)}/resume`, {}, options)
  }

  /** Send a campaign again to those whose email failed. Nobody else gets it again, in particular no address that bounced, complained or is suppressed. `POST /campaigns/{id}/retry` */
  retry(id: string, options?: Options): Promise<api.RetriedCampaign> {
    return this.call('POST', `/campaigns/${part(id)}/retry`, {}, options)
  }

  /** Send a campaign to yourself. Sends it as it is now to the given addresses, with the values of contacts that have these addresses. The emails count as sends, but not in the figures of the campaign. `POST /campaigns/{id}/test` */
  test(id: string, body: api.CampaignTest, options?: KeyedOptions): Promise<api.TestedCampaign> {
    return this.call('POST', `/campaigns/${part(id)}/test`, { body, keyed: true }, options)
  }

  /** Decide what happens to all emails in doubt of a campaign. `POST /campaigns/{id}/in-doubt` */
  decideDoubts(id: string, body: api.DoubtDecision, options?: Options): Promise<api.DecidedCampaign> {
    return this.call('POST', `/campaigns/${part(id)}/in-doubt`, { body }, options)
  }

  /** Get the figures of a campaign. `GET /campaigns/{id}/stats` */
  stats(id: string, query: api.GetCampaignStatsQuery = {}, options?: Options): Promise<api.CampaignStats> {
    return this.call('GET', `/campaigns/${part(id)}/stats`, { query }, options)
  }

  /** List the runs of a campaign, newest first. A campaign that does not recur has one run once it is sent. `GET /campaigns/{id}/runs` */
  runs(id: string, query: api.ListCampaignRunsQuery = {}, options?: Options): Pages<api.CampaignRun> {
    return this.pages(`/campaigns/${part(id)}/runs`, query, options)
  }

  /** Get the recipients who opened, clicked and replied. `GET /campaigns/{id}/engagement` */
  engagement(id: string, query: api.GetCampaignEngagementQuery = {}, options?: Options): Promise<api.CampaignEngagement> {
    return this.call('GET', `/campaigns/${part(id)}/engagement`, { query }, options)
  }

  /** List the links of a campaign, most clicked first. `GET /campaigns/{id}/clicked-links` */
  clickedLinks(id: string, query: api.ListCampaignLinksQuery = {}, options?: Options): Pages<api.CampaignLink> {
    return this.pages(`/campaigns/${part(id)}/clicked-links`, query, options)
  }

  /** List the recipients of a campaign. Includes contacts who were left out, with the reason. Empty before the campaign is sent. `GET /campaigns/{id}/recipients` */
  recipients(id: string, query: api.ListCampaignRecipientsQuery = {}, options?: Options): Pages<api.CampaignRecipient> {
    return this.pages(`/campaigns/${part(id)}/recipients`, query, options)
  }

  /** Count who would get a campaign now. Takes about two seconds per million contacts. `GET /campaigns/{id}/recipients/preview` */
  previewRecipients(id: string, options?: Options): Promise<api.RecipientsPreview> {
    return this.call('GET', `/campaigns/${part(id)}/recipients/preview`, {}, options)
  }

  /** Get the A/B test of a campaign. `GET /campaigns/{id}/ab` */
  ab(id: string, options?: Options): Promise<api.CampaignAb> {
    return this.call('GET', `/campaigns/${part(id)}/ab`, {}, options)
  }

  /** Choose the winner of an A/B test by hand. All recipients who wait for the winner get this variant. Possible only until there is a winner. `POST /campaigns/{id}/ab/winner` */
  chooseWinner(id: string, body: api.AbWinner, options?: Options): Promise<api.CampaignAb> {
    return this.call('POST', `/campaigns/${part(id)}/ab/winner`, { body }, options)
  }
}

export class Polls extends Resource {
  /** List polls, newest first. A poll is created together with the email, campaign or step of an automation that asks it. Polls of test emails are left out. `GET /polls` */
  list(query: api.ListPollsQuery = {}, options?: Options): Pages<api.ListedPoll> {
    return this.pages('/polls', query, options)
  }

  /** Get a poll with its answers. The id is that of the poll, or of the email or campaign that asks it. `GET /polls/{id}` */
  get(id: string, options?: Options): Promise<api.Poll> {
    return this.call('GET', `/polls/${part(id)}`, {}, options)
  }
}

export class Events extends Resource {
  /** Send an event for a contact. Starts the automations that the event triggers, and continues runs that wait for it. An event without a definition may have any payload. `POST /events/send` */
  send(body: api.NewEvent, options?: KeyedOptions): Promise<api.SentEvent> {
    return this.call('POST', '/events/send', { body, keyed: true }, options)
  }

  /** Define an event, or send one. A body without a contact defines an event: its name and the types of its payload. A body with `contact_id` or `email` sends one, as `POST /events/send` does. `POST /events` */
  create(body: api.EventOrDefinition, options?: KeyedOptions): Promise<api.EventDefinition> {
    return this.call('POST', '/events', { body, keyed: true }, options)
  }

  /** List event definitions, newest first. `GET /events` */
  list(query: api.ListEventsQuery = {}, options?: Options): Pages<api.EventDefinition> {
    return this.pages('/events', query, options)
  }

  /** Get an event definition. `GET /events/{id}` */
  get(id: string, options?: Options): Promise<api.EventDefinition> {
    return this.call('GET', `/events/${part(id)}`, {}, options)
  }

  /** Change an event definition. Events that were already sent stay as they are. The name cannot be changed. `PATCH /events/{id}` */
  update(id: string, body: api.EventDefinitionChange, options?: Options): Promise<api.ChangedEvent> {
    return this.call('PATCH', `/events/${part(id)}`, { body }, options)
  }

  /** Delete an event definition. Events with its name can still be sent, with any payload. `DELETE /events/{id}` */
  delete(id: string, options?: Options): Promise<api.DeletedEvent> {
    return this.call('DELETE', `/events/${part(id)}`, { removes: { object: 'event', id } }, options)
  }

  /** List the newest 100 events with a name. Events are kept for 90 days. The event need not have a definition. `GET /events/{id}/recent` */
  recent(id: string, options?: Options): Promise<api.ListOfContactEvents> {
    return this.call('GET', `/events/${part(id)}/recent`, {}, options)
  }
}

export class Automations extends Resource {
  readonly steps = new AutomationSteps(this.caller)

  readonly runs = new AutomationRuns(this.caller)

  /** Create an automation. Once it is enabled, the event of its trigger makes contacts enter. Without `connections`, each step leads to the next. `POST /automations` */
  create(body: api.NewAutomation, options?: KeyedOptions): Promise<api.Automation> {
    return this.call('POST', '/automations', { body, keyed: true }, options)
  }

  /** List automations, newest first. `GET /automations` */
  list(query: api.ListAutomationsQuery = {}, options?: Options): Pages<api.ListedAutomation> {
    return this.pages('/automations', query, options)
  }

  /** Get an automation with its steps and the numbers of its runs. `GET /automations/{id}` */
  get(id: string, options?: Options): Promise<api.Automation> {
    return this.call('GET', `/automations/${part(id)}`, {}, options)
  }

  /** Change an automation. Changed steps become a new version for contacts that enter from now on; runs that have started keep their version. If it is disabled, no contacts enter, and runs that have started continue. `PATCH /automations/{id}` */
  update(id: string, body: api.AutomationChange, options?: Options): Promise<api.ChangedAutomation> {
    return this.call('PATCH', `/automations/${part(id)}`, { body }, options)
  }

  /** Delete an automation and its runs. Its runs end at their current step. Emails that they have sent are kept. `DELETE /automations/{id}` */
  delete(id: string, options?: Options): Promise<api.DeletedAutomation> {
    return this.call('DELETE', `/automations/${part(id)}`, { removes: { object: 'automation', id } }, options)
  }

  /** Disable an automation and end its runs. Runs take no further steps, and soon become `skipped`. `POST /automations/{id}/stop` */
  stop(id: string, options?: Options): Promise<api.StoppedAutomation> {
    return this.call('POST', `/automations/${part(id)}/stop`, {}, options)
  }

  /** Make a disabled copy of an automation. `POST /automations/{id}/duplicate` */
  duplicate(id: string, body: api.AutomationCopy = {}, options?: KeyedOptions): Promise<api.Automation> {
    return this.call('POST', `/automations/${part(id)}/duplicate`, { body, keyed: true }, options)
  }

  /** Start a run of an automation for a contact. The same as if the event of its trigger had happened: the run counts for the quota, and `reentry` applies. `POST /automations/{id}/run` */
  run(id: string, body: api.NewAutomationRun, options?: KeyedOptions): Promise<api.StartedAutomationRun> {
    return this.call('POST', `/automations/${part(id)}/run`, { body, keyed: true }, options)
  }
}

export class Suppressions extends Resource {
  /** Suppress an address. Returns 200 if the address is already suppressed. `POST /suppressions` */
  add(body: api.NewSuppression, options?: Options): Promise<api.Suppression> {
    return this.call('POST', '/suppressions', { body }, options)
  }

  /** List suppressions, newest first. `GET /suppressions` */
  list(query: api.ListSuppressionsQuery = {}, options?: Options): Pages<api.Suppression> {
    return this.pages('/suppressions', query, options)
  }

  /** Get a suppression. `GET /suppressions/{id}` */
  get(id: string, options?: Options): Promise<api.Suppression> {
    return this.call('GET', `/suppressions/${part(id)}`, {}, options)
  }

  /** Remove a suppression. `DELETE /suppressions/{id}` */
  remove(id: string, options?: Options): Promise<api.DeletedSuppression> {
    return this.call('DELETE', `/suppressions/${part(id)}`, { removes: { object: 'suppression', id } }, options)
  }

  /** Suppress up to 1,000 addresses. `POST /suppressions/batch/add` */
  addMany(body: api.NewSuppressions, options?: Options): Promise<api.AddedSuppressions> {
    return this.call('POST', '/suppressions/batch/add', { body }, options)
  }

  /** Remove up to 1,000 suppressions. If a suppression does not exist, `deleted` is false; if it was named by its address, its `id` is null. `POST /suppressions/batch/remove` */
  removeMany(body: api.RemovedSuppressions, options?: Options): Promise<api.DeletedSuppressions> {
    return this.call('POST', '/suppressions/batch/remove', { body }, options)
  }

  /** Export the suppressions as a CSV file. `GET /suppressions/export` */
  export(options?: Options): Promise<Response> {
    return this.file('/suppressions/export', {}, options)
  }

  /** Suppress the addresses of a CSV file. The file has a column `email`, and may have `reason` and `expires_at`. Invalid records are left out. `POST /suppressions/import` */
  import(body: api.SuppressionFile, options?: Options): Promise<api.ImportedSuppressions> {
    return this.call('POST', '/suppressions/import', { body }, options)
  }
}

export class Templates extends Resource {
  /** Create a template. `POST /templates` */
  create(body: api.NewTemplate, options?: KeyedOptions): Promise<api.Template> {
    return this.call('POST', '/templates', { body, keyed: true }, options)
  }

  /** List templates, newest first. `GET /templates` */
  list(query: api.ListTemplatesQuery = {}, options?: Options): Pages<api.ListedTemplate> {
    return this.pages('/templates', query, options)
  }

  /** Get a template in its newest version. `GET /templates/{id}` */
  get(id: string, options?: Options): Promise<api.Template> {
    return this.call('GET', `/templates/${part(id)}`, {}, options)
  }

  /** Change a template. Emails use the changed content once the template is published. `PATCH /templates/{id}` */
  update(id: string, body: api.TemplateChange, options?: Options): Promise<api.ChangedTemplate> {
    return this.call('PATCH', `/templates/${part(id)}`, { body }, options)
  }

  /** Delete a template. A template that a scheduled campaign, an enabled automation or a run in progress uses cannot be deleted. `DELETE /templates/{id}` */
  delete(id: string, options?: Options): Promise<api.DeletedTemplate> {
    return this.call('DELETE', `/templates/${part(id)}`, { removes: { object: 'template', id } }, options)
  }

  /** Publish the newest version of a template. `POST /templates/{id}/publish` */
  publish(id: string, options?: Options): Promise<api.PublishedTemplate> {
    return this.call('POST', `/templates/${part(id)}/publish`, {}, options)
  }

  /** Render a template in its newest version. Returns the content of an email with these variables; nothing is sent. Links that differ per recipient, such as `{{unsubscribe_url}}`, stay placeholders. `POST /templates/{id}/render` */
  render(id: string, body: api.TemplateRendering = {}, options?: Options): Promise<api.RenderedTemplate> {
    return this.call('POST', `/templates/${part(id)}/render`, { body }, options)
  }

  /** Copy a template. `POST /templates/{id}/duplicate` */
  duplicate(id: string, body: api.TemplateCopy = {}, options?: KeyedOptions): Promise<api.Template> {
    return this.call('POST', `/templates/${part(id)}/duplicate`, { body, keyed: true }, options)
  }
}

export class Webhooks extends Resource {
  readonly events = new WebhookEvents(this.caller)

  /** Add a webhook. A request that is repeated with the same `Idempotency-Key` returns the same secret, which is stored encrypted for this. `POST /webhooks` */
  create(body: api.NewWebhook, options?: KeyedOptions): Promise<api.WebhookWithSecret> {
    return this.call('POST', '/webhooks', { body, keyed: true }, options)
  }

  /** List webhooks. `GET /webhooks` */
  list(query: api.ListWebhooksQuery = {}, options?: Options): Pages<api.Webhook> {
    return this.pages('/webhooks', query, options)
  }

  /** Get a webhook. `GET /webhooks/{id}` */
  get(id: string, options?: Options): Promise<api.Webhook> {
    return this.call('GET', `/webhooks/${part(id)}`, {}, options)
  }

  /** Change, enable or disable a webhook. Enabling it or changing its endpoint resets its failures. `PATCH /webhooks/{id}` */
  update(id: string, body: api.WebhookChange, options?: Options): Promise<api.ChangedWebhook> {
    return this.call('PATCH', `/webhooks/${part(id)}`, { body }, options)
  }

  /** Delete a webhook. `DELETE /webhooks/{id}` */
  delete(id: string, options?: Options): Promise<api.DeletedWebhook> {
    return this.call('DELETE', `/webhooks/${part(id)}`, { removes: { object: 'webhook', id } }, options)
  }

  /** Replace the signing secret of a webhook. The previous secret is no longer used. A request that is repeated with the same `Idempotency-Key` returns the same secret, which is stored encrypted for this. `POST /webhooks/{id}/signing-secret/rotate` */
  rotateSecret(id: string, options?: KeyedOptions): Promise<api.WebhookSecret> {
    return this.call('POST', `/webhooks/${part(id)}/signing-secret/rotate`, { keyed: true }, options)
  }

  /** Send a test event to a webhook. Waits for the response of the endpoint. The test counts neither as a success nor as a failure. `POST /webhooks/{id}/test` */
  test(id: string, options?: KeyedOptions): Promise<api.WebhookTest> {
    return this.call('POST', `/webhooks/${part(id)}/test`, { keyed: true }, options)
  }

  /** Send the events of a time range again. `POST /webhooks/{id}/replay` */
  replay(id: string, body: api.WebhookReplay, options?: KeyedOptions): Promise<api.ReplayedWebhook> {
    return this.call('POST', `/webhooks/${part(id)}/replay`, { body, keyed: true }, options)
  }
}

export class Logs extends Resource {
  /** List API requests, newest first. `GET /logs` */
  list(query: api.ListLogsQuery = {}, options?: Options): Pages<api.ListedLog> {
    return this.pages('/logs', query, options)
  }

  /** Get an API request with its bodies. `GET /logs/{id}` */
  get(id: string, options?: Options): Promise<api.Log> {
    return this.call('GET', `/logs/${part(id)}`, {}, options)
  }
}

export class Usage extends Resource {
  /** Get what the account has used of its quotas. `GET /usage` */
  get(options?: Options): Promise<api.Usage> {
    return this.call('GET', '/usage', {}, options)
  }
}

export class ApiKeys extends Resource {
  /** List API keys. `GET /api-keys` */
  list(query: api.ListApiKeysQuery = {}, options?: Options): Pages<api.ApiKey> {
    return this.pages('/api-keys', query, options)
  }
}

/** All resources of the API. */
export class Resources extends Resource {
  readonly emails = new Emails(this.caller)
  readonly received = new Received(this.caller)
  readonly domains = new Domains(this.caller)
  readonly contacts = new Contacts(this.caller)
  readonly contactProperties = new ContactProperties(this.caller)
  readonly audiences = new Audiences(this.caller)
  readonly segments = new Segments(this.caller)
  readonly topics = new Topics(this.caller)
  readonly campaigns = new Campaigns(this.caller)
  readonly polls = new Polls(this.caller)
  readonly events = new Events(this.caller)
  readonly automations = new Automations(this.caller)
  readonly suppressions = new Suppressions(this.caller)
  readonly templates = new Templates(this.caller)
  readonly webhooks = new Webhooks(this.caller)
  readonly logs = new Logs(this.caller)
  readonly usage = new Usage(this.caller)
  readonly apiKeys = new ApiKeys(this.caller)
}
