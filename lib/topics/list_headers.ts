/**
 * Mail to a list: the ids of its account, domain, topic and campaign or automation, the name of the domain, and the URIs to
 * unsubscribe.
 */
type ListMail = {
  account_id: string
  domain_id: string
  topic_id: string | null
  campaign_id: string | null
  automation_id: string | null
  domain: string
  https: string
  mailto: string | null
}

/**
 * Returns the headers of mail to one recipient of a list: List-Id (RFC 2919); List-Unsubscribe (RFC 2369), with
 * List-Unsubscribe-Post (RFC 8058) if the URI is https; and Feedback-ID, by whose parts Gmail's Postmaster Tools count spam
 * reports: campaign or automation, account, topic, and the domain as the sender id of 5 to 15 characters.
 */
export function listHeaders(mail: ListMail): Record<string, string> {
  const { topic_id, domain_id, domain, https, mailto } = mail
  const uris = [https, ...(mailto === null ? [] : [mailto])]
  const isOneClick = https.startsWith('https:')
  return {
    'List-Id': `<${topic_id ?? domain_id}.${domain}>`,
    'List-Unsubscribe': uris.map(uri => `<${uri}>`).join(', '),
    ...(isOneClick && { 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' }),
    'Feedback-ID': [mail.campaign_id ?? mail.automation_id, mail.account_id, topic_id, domain_id]
      .map(shortId)
      .join(':'),
  }
}

/** Returns the last 12 digits of an id, which are random. */
function shortId(id: string | null): string {
  return id?.slice(-12) ?? ''
}

/** Tells whether a message has an unsubscribe header of its own, in which case ours must not be added. */
export function hasUnsubscribeHeader(headers: Record<string, string>): boolean {
  return Object.keys(headers).some(name => name.toLowerCase() === 'list-unsubscribe')
}
