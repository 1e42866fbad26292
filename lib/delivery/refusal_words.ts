/**
 * Words of refusals that both the table of rules (lib/delivery/refusals) and the details of a bounce
 * (lib/delivery/bounce_details.ts) look for. They are ambiguous, so the code of a reply takes precedence.
 */

/** The mailbox or the domain does not exist. */
export const NO_USER =
  /(?:unknown|no such|invalid|non-?existent|not a valid) (?:local )?(?:user|recipient|mailbox|address|account|domain|person|host)|\b(?:user|recipient|mailbox|address|account|addressee|box)\b.{0,80}?\b(?:unknown|not (?:found|exist|known|valid|listed|available|recogni[sz]ed)|doesn'?t (?:exist|have)|unavailable|disabled|deactivated|inactive|invalid|no longer|suspended|terminated|closed|expired)|disabled (?:recipient|user|account)|no mailbox (?:here|by that name)|(?:unknown host or|\bhost unknown|no such) domain|\b(?:domain|host)\b.{0,40}(?:not (?:exist|found|accept)|doesn'?t (?:exist|accept)|unknown)|unroute?able|name or service not known|domain must exist|RecipientNotFound|RecipNotFound|null ?mx|no smtp service|no mx |no longer (?:valid|active|available)|(?<!sender |your )\b(?:inactive|deactivated|archived) (?:user|account|mailbox|recipient)|user (?:is )?not active|(?<!account |sender )(?:is|has been) (?:currently )?suspended|(?:bad|valid)(?:rcpt|recipient)to|no one at this address|does not exist/i

export const FULL =
  /(?:mail)?(?:box|folder)\b.{0,40}\b(?:full|quota|exceeds allowed size)|(?:over|out of) ?(?:quota|storage)|quota\b.{0,30}(?:exceed|full|reached)|exceed.{0,40}(?:quota|storage)|storage allocation|not enough (?:storage|space)|(?:in|not )sufficient (?:mailbox|disk|storage)|mailbox (?:size limit )?(?:has )?exceed|full mailbox|disk ?space (?:quota|limit)|enough space|over (?:the |disk )?(?:allowed )?quota|quota violation|(?:disk|user) ?quota|space has been used up|[邮郵信]箱(?:空间|容量)?(?:已[满滿]|不足)|空間不足|容量.{0,10}(?:超え|いっぱい)|ящик.{0,20}переполнен/i

export const TOO_LARGE =
  /(?:message|mail|size)\b.{0,40}(?:too (?:large|big)|exceed)|(?:exceed|larger than|over)\w*\b.{0,40}(?:message size|size limit|maximum size|fixed limit)/i

export const ATTACHMENT = /attachment|attached|file ?(?:type|extension|name)|executable|\.(?:exe|zip|js)\b/i

export const CONTENT = /\bspam\b|\buce\b|virus|malware|phish|content|unsolicited|infected/i

/** A policy of the receiver. The words do not say whether it concerns the sender, the recipient or the message. */
export const POLICY =
  /block|denied|prohibit|not (?:allowed|permitted|authori[sz]ed)|unauthori[sz]ed|polic(?:y|ies)|spam|\bbanned\b|abus|suspicious|security|restricted/i

/** Returns a reply without the addresses that it repeats, so that a name such as spam@ or nobody@ does not affect its class. */
export function withoutAddresses(text: string): string {
  return text.replace(/[^\s<>()]+@[^\s<>():;,]+/g, '')
}
